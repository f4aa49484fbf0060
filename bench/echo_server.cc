// The yardstick: the least a Drogon service can do with a request. One handler on an exact path
// that sends the body back as it came. With --parse the body goes through Drogon's own JSON, the
// way an ordinary handler would do it.
#include <drogon/drogon.h>
#include <fmt/format.h>
#include <trantor/utils/Logger.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>

namespace {

using Callback = std::function<void(const drogon::HttpResponsePtr&)>;

void echo(const drogon::HttpRequestPtr& request, Callback&& callback) {
  auto response = drogon::HttpResponse::newHttpResponse();
  response->setContentTypeCode(drogon::CT_APPLICATION_JSON);
  response->setBody(std::string(request->body()));
  callback(response);
}

// The framework's own answer with a file.
void sendFile(const drogon::HttpRequestPtr& request, Callback&& callback) {
  callback(drogon::HttpResponse::newFileResponse(request->getParameter("path")));
}

void parseAndEcho(const drogon::HttpRequestPtr& request, Callback&& callback) {
  const auto json = request->getJsonObject();
  callback(drogon::HttpResponse::newHttpJsonResponse(json ? *json : Json::Value()));
}

}  // namespace

int main(int argc, char** argv) {
  const bool parse = argc > 1 && std::string_view(argv[1]) == "--parse";
  trantor::Logger::setOutputFunction([](const char*, std::uint64_t) {}, [] {});
  drogon::app()
      .registerHandler("/echo", parse ? &parseAndEcho : &echo, {drogon::Post})
      .registerHandler("/file", &sendFile, {drogon::Get})
      .setThreadNum(std::max(1U, std::thread::hardware_concurrency()))
      .setUploadPath("/dev/null/unused")
      .addListener("127.0.0.1", 0)
      .registerBeginningAdvice([] {
        fmt::print("listening on http://127.0.0.1:{}\n",
                   drogon::app().getListeners().front().toPort());
        std::fflush(stdout);
      })
      .run();
}
