#include <gtest/gtest.h>

#include <algorithm>

#include "app/config/settings_sources.h"
#include "app/config/yaml_tree.h"

namespace muster {
namespace {

SettingsDraft draftOf(const std::string& yaml) {
  SettingsDraft draft;
  readYamlSettings("m.yml", yaml, draft);
  return draft;
}

std::vector<std::string> faultsOf(const std::string& yaml) {
  std::vector<std::string> lines;
  for (const auto& fault : draftOf(yaml).faults)
    lines.push_back(fault.pointer + ": " + fault.detail);
  return lines;
}

std::string repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(SettingsYaml, anEmptyFileChangesNothing) {
  for (const std::string yaml : {"", "\n", "# only a comment\n", "---\n", "---\n...\n"}) {
    EXPECT_TRUE(draftOf(yaml).faults.empty()) << yaml;
  }
}

TEST(SettingsYaml, readsTokensTemplatesAndPools) {
  const auto draft = draftOf(R"(
tokens:
  - {name: ci, sha256: 9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08, scopes: [read, produce]}
templates:
  analyze: {run: [python3, analyze.py, 7], env: {MODEL: small, N: 3}, cwd: jobs}
  gpu:     {worker: [./gpu_worker], capabilities: [gpu, gpu=nvidia], executors: [docker, 7]}
pools:
  papers: {template: analyze, scaling: {max_workers: 4}, retry: {jitter: 0.5}, paused: true}
  plain:
  echoes: {template: echo, worker_mode: "once"}
)");
  ASSERT_TRUE(draft.faults.empty()) << draft.faults[0].detail;
  const Settings& settings = draft.settings;
  ASSERT_EQ(settings.tokens.size(), 1u);
  EXPECT_EQ(settings.tokens[0].sha256,
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08");
  EXPECT_EQ(settings.tokens[0].scopes, (Grants{{Scope::kRead}, {Scope::kProduce}}));
  const auto& analyze = settings.templates.at("analyze");
  EXPECT_EQ(analyze.kind, WorkerTemplate::Kind::kRun);
  EXPECT_EQ(analyze.command, (std::vector<std::string>{"python3", "analyze.py", "7"}));
  EXPECT_EQ(analyze.env.at("N"), "3");
  EXPECT_EQ(analyze.cwd, "jobs");
  EXPECT_TRUE(analyze.capabilities.empty());
  EXPECT_TRUE(analyze.executors.empty());
  const auto& gpu = settings.templates.at("gpu");
  EXPECT_EQ(gpu.kind, WorkerTemplate::Kind::kWorker);
  EXPECT_EQ(gpu.capabilities, (std::vector<std::string>{"gpu", "gpu=nvidia"}));
  EXPECT_EQ(gpu.executors, (std::vector<std::string>{"docker", "7"}));
  EXPECT_EQ(settings.templates.at("echo").kind, WorkerTemplate::Kind::kBuiltin);
  const auto& papers = settings.pools.at("papers");
  EXPECT_EQ(papers.template_name, "analyze");
  EXPECT_EQ(papers.max_workers, 4);
  EXPECT_EQ(papers.retry_jitter, 0.5);
  EXPECT_EQ(papers.paused, true);
  EXPECT_EQ(settings.pools.at("plain"), PoolSettings{});
  EXPECT_EQ(settings.pools.at("echoes").worker_mode, "once");
}

TEST(SettingsYaml, readsPoolsLikeTheApi) {
  auto faults = faultsOf(
      "pools:\n  p:\n    scaling:\n      max_workers: many\n    nonsense: 1\n    paused: 'true'\n");
  ASSERT_EQ(faults.size(), 3u);
  std::sort(faults.begin(), faults.end());
  EXPECT_TRUE(faults[0].starts_with("m.yml:4:7: /scaling/max_workers ")) << faults[0];
  EXPECT_TRUE(faults[1].starts_with("m.yml:5:5: /nonsense ")) << faults[1];
  EXPECT_TRUE(faults[2].starts_with("m.yml:6:5: /paused ")) << faults[2];
}

TEST(SettingsYaml, poolsMustAgreeWithTheDefaults) {
  auto draft = draftOf("pools:\n  p:\n    scaling: {min_workers: 11}\n");
  checkSettings(draft);
  ASSERT_EQ(draft.faults.size(), 1u);
  EXPECT_EQ(draft.faults[0].pointer, "m.yml:3:15");
}

TEST(PlacesByPointer, fallsBackToWhatIsAround) {
  const PlacesByPointer places{{{"", "f:1:1"}, {"/a", "f:2:1"}, {"/a/b", "f:3:1"}}};
  EXPECT_EQ(places.placeOf("/a/b"), "f:3:1");
  EXPECT_EQ(places.placeOf("/a/c/d"), "f:2:1");
  EXPECT_EQ(places.placeOf("/x"), "f:1:1");
}

TEST(SettingsYaml, reportsAllFaultsWithTheirPlaces) {
  EXPECT_EQ(
      faultsOf(R"(listn: 127.0.0.1:8080
threads: [1]
scopes: n1
tokens:
  - {name: ci, sha256: short, scopes: [read, root]}
  - {nmae: x}
templates:
  a: {run: python3 x.py}
  b: {run: [x], worker: [y]}
  c: {builtin: cat, env: {MUSTER_URL: x, 1A: y}}
pools:
  bad/name: {}
  p: {template: anlyze}
  q: 5
)"),
      (std::vector<std::string>{
          "m.yml:1:1: unknown key \"listn\", did you mean \"listen\"?",
          "m.yml:2:10: threads is a list, expected a whole number from 0 to 1024",
          "m.yml:3:1: unknown key \"scopes\"",
          "m.yml:5:24: sha256 is not a hash, expected 64 hex digits, the SHA-256 of the token",
          "m.yml:5:46: unknown scope \"root\", expected read, produce, work or admin, alone or for "
          "pools like produce:emails or produce:team.*",
          "m.yml:6:6: unknown key \"nmae\", did you mean \"name\"?",
          "m.yml:6:5: token without name",
          "m.yml:6:5: token without sha256 (`muster token` makes one)",
          "m.yml:6:5: token without scopes",
          "m.yml:8:12: run is a plain value, expected a program and its arguments like "
          "[python3, analyze.py]; no shell reads it",
          "m.yml:9:6: expected exactly one of run, worker and builtin",
          "m.yml:10:16: builtin is \"cat\", expected echo",
          "m.yml:10:27: MUSTER_URL: names with MUSTER_ are set by the service",
          "m.yml:10:42: \"1A\" cannot name an environment variable",
          "m.yml:12:3: \"bad/name\" cannot be a name, expected 1 to 128 letters, digits or . "
          "_ ~ : -",
          "m.yml:13:17: no template is named \"anlyze\"",
          "m.yml:14:6: q is a plain value, expected settings like {scaling: {max_workers: "
          "4}}",
      }));
}

TEST(SettingsYaml, templates_name_their_user_and_the_variables_that_pass) {
  const auto draft = draftOf(
      "templates:\n"
      "  a: {run: [x], user: nobody, group: daemon, pass_env: [PGPASSWORD, AWS_*]}\n"
      "  b: {run: [x], user: root}\n");
  ASSERT_TRUE(draft.faults.empty()) << draft.faults[0].detail;
  const auto& a = draft.settings.templates.at("a");
  EXPECT_EQ(a.pass_env, (std::vector<std::string>{"PGPASSWORD", "AWS_*"}));
  EXPECT_EQ(a.user->name, "nobody");
  EXPECT_EQ(a.user->gid, findSystemUser("daemon")->gid);
  EXPECT_EQ(draft.settings.templates.at("b").user->uid, 0u);
  EXPECT_EQ(faultsOf("templates:\n"
                     "  a: {run: [x], user: no-such-user}\n"
                     "  b: {run: [x], user: root, group: no-such-group}\n"
                     "  c: {run: [x], group: daemon}\n"
                     "  d: {run: [x], user: [root]}\n"
                     "  e: {run: [x], pass_env: [MUSTER_TOKEN, 'A B', [x]]}\n"
                     "  f: {run: [x], pass_env: PATH}\n"),
            (std::vector<std::string>{
                "m.yml:2:23: no user of this machine is named \"no-such-user\"",
                "m.yml:3:23: no group of this machine is named \"no-such-group\"",
                "m.yml:4:17: group is given, expected user beside it",
                "m.yml:5:23: user is a list, expected the name of a user",
                "m.yml:6:28: \"MUSTER_TOKEN\" cannot pass to workers, expected a name like "
                "PGPASSWORD, or a prefix like AWS_*; none of MUSTER_*",
                "m.yml:6:42: \"A B\" cannot pass to workers, expected a name like PGPASSWORD, or "
                "a prefix like AWS_*; none of MUSTER_*",
                "m.yml:6:49: an item of pass_env is a list, expected the name of a variable",
                "m.yml:7:27: pass_env is a plain value, expected a list of variables like "
                "[PGPASSWORD, AWS_*]",
            }));
}

TEST(SettingsYaml, whatTemplatesDeclareIsCheckedLikeARegistration) {
  const std::string most(256, 'x');
  EXPECT_EQ(
      faultsOf("templates:\n"
               "  a: {builtin: echo, capabilities: gpu, executors: {docker: 1}}\n"
               "  b: {builtin: echo, capabilities: [" +
               most + ", " + most + "x, '', [gpu]]}\n" + "  c: {builtin: echo, executors: [x" +
               repeat(",x", 999) + "]}\n" + "  d: {builtin: echo, executors: [x" +
               repeat(",x", 1000) + "]}\n" + "  e: {builtin: echo, capability: [gpu]}\n"),
      (std::vector<std::string>{
          "m.yml:2:36: capabilities is a plain value, expected a list like [gpu]",
          "m.yml:2:52: executors is a map, expected a list like [docker]",
          "m.yml:3:295: an item of capabilities has 257 bytes, expected 1 to 256",
          "m.yml:3:554: an item of capabilities has 0 bytes, expected 1 to 256",
          "m.yml:3:558: an item of capabilities is a list, expected text",
          "m.yml:5:33: executors has 1001 items, expected at most 1000",
          "m.yml:6:22: unknown key \"capability\", did you mean \"capabilities\"?",
      }));
}

TEST(SettingsYaml, keysOfOtherVersionsAreUnknown) {
  for (const std::string key : {"blob_places", "on_stop"}) {
    EXPECT_EQ(faultsOf(key + ": x").size(), 1u) << key;
  }
}

TEST(SettingsYaml, aKeyStandsOnce) {
  EXPECT_EQ(faultsOf("threads: 1\nthreads: {a: [b]}\nMAX_RETRIES: 1\nmax_retries: 2\n"),
            (std::vector<std::string>{
                "m.yml:2:1: \"threads\" stands a second time, first in line 1",
                "m.yml:4:1: \"max_retries\" is the same setting as \"MAX_RETRIES\" in line 3",
            }));
}

TEST(SettingsYaml, aTokenInPlaceOfItsHashIsNotShown) {
  const auto faults = faultsOf("tokens: [{name: a, sha256: my-secret-token, scopes: [read]}]");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].find("my-secret"), std::string::npos);
}

TEST(SettingsYaml, reads_tls_clients) {
  const auto draft = draftOf("tls_clients: [{name: farm, subject: f.example, scopes: [work]}]");
  ASSERT_TRUE(draft.faults.empty()) << draft.faults[0].detail;
  ASSERT_EQ(draft.settings.tls_clients.size(), 1U);
  EXPECT_EQ(draft.settings.tls_clients[0].name, "farm");
  EXPECT_EQ(draft.settings.tls_clients[0].subject, "f.example");
  EXPECT_EQ(draft.settings.tls_clients[0].scopes, (Grants{{Scope::kWork}}));
}

TEST(SettingsYaml, tls_clients_must_be_whole_and_differ) {
  EXPECT_EQ(
      faultsOf("tls_clients: [{subject: CN=f, scopes: [king], color: red}]"),
      (std::vector<std::string>{
          "m.yml:1:25: subject is \"CN=f\", expected the common name of a certificate, like "
          "farm.example.org, without CN=",
          "m.yml:1:40: unknown scope \"king\", expected read, produce, work or admin, alone or for "
          "pools like produce:emails or produce:team.*",
          "m.yml:1:47: unknown key \"color\", expected one of name, subject, scopes",
          "m.yml:1:15: client without name"}));
  EXPECT_EQ(faultsOf("tls_clients: [{name: a}]").size(), 2U);
  const std::string hash(64, 'a');
  EXPECT_EQ(faultsOf("tokens: [{name: a, scopes: [read], sha256: " + hash +
                     "}]\ntls_clients:\n"
                     "  - {name: a, subject: x, scopes: [work]}\n"
                     "  - {name: b, subject: x, scopes: [work]}\n"
                     "  - {name: b, subject: y, scopes: [work]}\n"),
            (std::vector<std::string>{"m.yml:3:5: a token is named \"a\" already",
                                      "m.yml:4:5: the same subject as client \"a\"",
                                      "m.yml:5:5: a second client named \"b\""}));
}

TEST(SettingsYaml, tokensMustDiffer) {
  const std::string hash(64, 'a');
  const std::string token = "  - {name: a, scopes: [read], sha256: " + hash + "}\n";
  EXPECT_EQ(faultsOf("tokens:\n" + token + token).size(), 2u);
}

struct Hostile {
  std::string what;
  std::string yaml;
};

TEST(SettingsYaml, refusesHostileFilesCleanly) {
  std::string bomb = "a0: &a0 [x]\n";
  for (int i = 1; i < 40; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" +
            repeat("*a" + std::to_string(i - 1) + ", ", 9) + "]\n";
  }
  std::string stairs;
  for (int i = 0; i < 400; ++i) stairs += repeat(" ", i) + "k:\n";
  const std::vector<Hostile> cases = {
      {"aliases", bomb},
      {"anchor on a scalar", "listen: &x 127.0.0.1:1"},
      {"unknown alias", "listen: *x"},
      {"deep flow lists", repeat("[", 100000)},
      {"deep flow maps", repeat("{a: ", 100000)},
      {"deep block lists", repeat("- ", 100000)},
      {"deep block maps", stairs},
      {"deep question marks", repeat("? ", 10000)},
      {"NUL", std::string("listen: a\nstore: \0b", 18)},
      {"escaped NUL", "store: \"sqlite:a\\0b\""},
      {"many values", "allowed_hosts: [" + repeat("a,", 100000) + "]"},
      {"many keys",
       [] {
         std::string keys = "pools:\n";
         for (int i = 0; i < 30000; ++i) keys += "  p" + std::to_string(i) + ":\n";
         return keys;
       }()},
      {"too large", repeat("# comment\n", 200000)},
      {"tag", "store: !!binary aGVsbG8="},
      {"map as key", "{a: b}: c"},
      {"two documents", "listen: 127.0.0.1:1\n---\nlisten: 127.0.0.1:2\n"},
      {"a list", "- listen"},
      {"a word", "listen"},
      {"unclosed quote", "listen: \"abc"},
      {"unclosed list", "allowed_hosts: [a"},
      {"tab indent", "pools:\n\tp: {}\n"},
      {"merge key", "pools: {<<: {}}"},
      {"directive", "%YAML 9.9\n---\nlisten: x\n"},
  };
  for (const auto& [what, yaml] : cases) {
    const auto faults = faultsOf(yaml);
    EXPECT_FALSE(faults.empty()) << what;
    EXPECT_LE(faults.size(), 100u) << what;
  }
}

TEST(SettingsYaml, namesTheLineOfASyntaxError) {
  const auto faults = faultsOf("listen: 127.0.0.1:1\nstore: [\nthreads: 1\n");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_TRUE(faults[0].starts_with("m.yml:")) << faults[0];
}

TEST(SettingsYaml, names_the_place_of_a_byte_that_is_no_utf8) {
  const char* const texts[] = {"listen: a\nstore: \xb6", "listen: a\nstore: \xed\xa0\x80",
                               "listen: a\nstore: \xc3"};
  for (const char* text : texts) {
    EXPECT_EQ(faultsOf(text),
              std::vector<std::string>{"m.yml:2:8: a wrong byte, expected UTF-8 text"})
        << text;
  }
}

struct JsonCase {
  std::string yaml;
  std::string json;
};

TEST(YamlToJson, keepsWhatJsonCanSay) {
  const std::vector<JsonCase> cases = {
      {"12345678901234567890", "12345678901234567890"},
      {"-0.5e+3", "-0.5e+3"},
      {"007", R"("007")"},
      {"1.", R"("1.")"},
      {"0x10", R"("0x10")"},
      {"-", R"([null])"},
      {"'5'", R"("5")"},
      {"true", "true"},
      {"\"true\"", R"("true")"},
      {"yes", R"("yes")"},
      {"~", "null"},
      {"null", "null"},
      {"[a, [], {}]", R"(["a",[],{}])"},
      {"{a: \"x\\ny\\\"\\\\\"}", R"({"a":"x\u000ay\"\\"})"},
      {"grün 😀", "\"grün 😀\""},
      {"{'': 1}", R"({"":1})"},
  };
  for (const auto& [yaml, json] : cases) {
    std::vector<YamlFault> duplicates;
    const auto node = parseYaml(yaml, duplicates);
    ASSERT_TRUE(node) << yaml << ": " << node.error().what;
    EXPECT_EQ(yamlToJson(*node), json) << yaml;
  }
}

}  // namespace
}  // namespace muster
