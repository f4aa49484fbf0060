#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/commands.h"

namespace CLI {
class App;
}

namespace muster {

struct WebhookListCommand {
  std::size_t limit = 50;
};

struct WebhookAddCommand {
  std::string url;
  std::vector<std::string> types;  // empty: all
  std::string pool;
  std::string description;
};

struct WebhookShowCommand {
  std::string id;
};

struct WebhookChangeCommand {
  enum class Change { kEnable, kDisable, kRemove };
  Change change = Change::kEnable;
  std::string id;
};

struct WebhookRotateCommand {
  std::string id;
};

struct WebhookTestCommand {
  std::string id;
};

struct WebhookDeliveriesCommand {
  std::string id;
  std::string status;
  std::string resend;  // the id of a delivery; empty: only show
  std::size_t limit = 20;
};

// What is parsed goes into `options`.
void addWebhookOptions(CLI::App& app, WebhookAddCommand& options);
void addDeliveryOptions(CLI::App& app, WebhookDeliveriesCommand& options);

int run(const WebhookListCommand& command, ApiClient& api, Terminal& terminal);
int run(const WebhookAddCommand& command, ApiClient& api, Terminal& terminal);
int run(const WebhookShowCommand& command, ApiClient& api, Terminal& terminal);
int run(const WebhookChangeCommand& command, ApiClient& api, Terminal& terminal);
int run(const WebhookRotateCommand& command, ApiClient& api, Terminal& terminal);
int run(const WebhookTestCommand& command, ApiClient& api, Terminal& terminal);
int run(const WebhookDeliveriesCommand& command, ApiClient& api, Terminal& terminal);

}  // namespace muster
