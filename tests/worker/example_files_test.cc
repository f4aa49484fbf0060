// The crontab, the database webhook and the map-reduce in examples/ are run as they are written.
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "tests/worker/worker_fixture.h"

namespace muster::test {
namespace {

class ExampleFiles : public testing::Test {
 protected:
  static std::vector<std::string> linesOf(const std::string& file) {
    std::istringstream text(readFile(MUSTER_EXAMPLES "/" + file));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    EXPECT_FALSE(lines.empty()) << file;
    return lines;
  }
  // As cron would, or a person at a shell: `muster` is in the PATH.
  std::string runInShell(const std::string& script) {
    std::filesystem::create_directories(folder_ / "bin");
    if (!std::filesystem::exists(folder_ / "bin/muster")) {
      std::filesystem::create_symlink(musterBinary(), folder_ / "bin/muster");
    }
    ChildProcess process({{"/bin/sh", "-c", "PATH=\"$HOME/bin:$PATH\"\n" + script},
                          folder_.path(),
                          {"MUSTER_URL=" + service_.url(), "HOME=" + folder_.path().string()}});
    EXPECT_EQ(process.wait(), 0) << script << process.err()
                                 << readFile(folder_ / "muster-worker.log");
    return process.out();
  }
  // The text with `to` in all places of `from`.
  static std::string replaced(const std::string& text, const std::string& from,
                              const std::string& to) {
    std::string out = text;
    for (auto at = out.find(from); at != std::string::npos; at = out.find(from, at + to.size())) {
      out.replace(at, from.size(), to);
    }
    return out;
  }
  void writeProgram(const std::string& name, const std::string& script) {
    writeFile(folder_ / name, "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
  }

  Service service_;
  TempFolder folder_;
};

TEST_F(ExampleFiles, the_lines_of_the_crontab_do_their_work) {
  const std::string every_minute = "* * * * * ";
  PoolClient emails(service_.url(), "emails"), reports(service_.url(), "reports");
  const Json::Value email = emails.push(R"("data":{"to":"ada"})");
  reports.pushMany(3);
  PoolClient launched(service_.url(), "launched");
  launched.configure(R"("template":"echo","paused":true)");
  writeProgram("send-email", "cat");
  writeProgram("make-report", "echo '\"made\"'");
  int commands = 0;
  for (const std::string& line : linesOf("crontab")) {
    if (line.empty() || line.starts_with("#") || line.starts_with("MUSTER_URL=")) continue;
    ASSERT_TRUE(line.starts_with(every_minute)) << line;
    EXPECT_EQ(line.find('%'), std::string::npos) << "cron makes a new line of it";
    runInShell(
        replaced(line.substr(every_minute.size()), "/usr/local/bin", folder_.path().string()));
    ++commands;
  }
  EXPECT_EQ(commands, 3);
  EXPECT_EQ(emails.job(email)["result"]["to"], "ada");
  EXPECT_EQ(reports.stats()["done"], 3);
  EXPECT_EQ(launched.http().get("/v1/pools/launched/decisions").json["items"][0]["trigger"], "api");
}

// What the function in the file posts, read out of it: there is no pg_net here.
TEST_F(ExampleFiles, the_database_webhook_and_its_hook_fit_together) {
  std::string sql, setup;
  bool in_setup = false;
  for (const std::string& line : linesOf("database_webhook.sql")) {
    sql += line + "\n";
    in_setup = line.starts_with("--   curl ") || (in_setup && line.starts_with("--   "));
    if (in_setup) setup += line.substr(2) + "\n";
  }
  runInShell(setup);

  const auto find = [&sql](const char* pattern) {
    std::smatch found;
    EXPECT_TRUE(std::regex_search(sql, found, std::regex(pattern))) << pattern;
    return found.size() > 1 ? found[1].str() : std::string();
  };
  const std::string path = find(R"(url := 'https://jobs\.example\.org(/[^']*)' \|\| tg_argv)");
  const std::string hook = find(R"(execute function muster_hook\('([^']*)'\))");
  const std::string secret = find(R"(set app\.muster_webhook_token = '([^']*)')");
  const std::string prefix =
      find(R"('Authorization', '([^']*)' \|\| current_setting\('app\.muster_webhook_token'\))");
  EXPECT_EQ(find(R"(('type', tg_op,\s+'table', tg_table_name,\s+'record', to_jsonb\(new\))\))"),
            "'type', tg_op,\n      'table', tg_table_name,\n      'record', to_jsonb(new)");
  const std::string body = R"({"type":"INSERT","table":"orders","record":{"id":7,"item":"tea"}})";

  Http database(service_.url());
  const auto inserted = database.post(path + hook, body, {{"Authorization", prefix + secret}});
  EXPECT_EQ(inserted.status, 202) << inserted;
  EXPECT_FALSE(inserted.json.isMember("ignored")) << inserted;
  PoolClient orders(service_.url(), "orders");
  const auto jobs = orders.list();
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0]["data"]["item"], "tea");
  EXPECT_EQ(database.post(path + hook, body, {{"Authorization", prefix + "guessed"}}).status, 401);
  EXPECT_EQ(database.post(path + hook, body).status, 401);
}

TEST_F(ExampleFiles, the_map_reduce_counts_the_words_of_all_files) {
  std::filesystem::create_directories(folder_ / "texts");
  for (int i = 1; i <= 3; ++i) {
    writeFile(folder_ / "texts" / (std::to_string(i) + ".txt"), "one two three\nfour\n");
  }
  const std::string out = runInShell(MUSTER_EXAMPLES "/map_reduce.sh texts");
  EXPECT_NE(out.find("words  "), std::string::npos) << out;
  EXPECT_NE(out.find("✓ split"), std::string::npos) << out;
  EXPECT_NE(out.find("  └ ✓ "), std::string::npos) << out;
  EXPECT_NE(out.find("✓ sum"), std::string::npos) << out;
  EXPECT_TRUE(out.ends_with("\n12 words\n")) << out;
}

TEST_F(ExampleFiles, are_all_tested) {
  std::set<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(MUSTER_EXAMPLES)) {
    files.insert(file.path().filename().string());
  }
  EXPECT_EQ(files, (std::set<std::string>{"crontab", "database_webhook.sql", "map_reduce.sh",
                                          "webhook_receiver.py", "worker.py", "worker.sh"}));
}

}  // namespace
}  // namespace muster::test
