#include "app/cli/webhook_options.h"

#include <CLI/CLI.hpp>

namespace muster {

void addWebhookOptions(CLI::App& app, WebhookAddCommand& options) {
  app.add_option("URL", options.url, "where events are posted")->required();
  app.add_option("--types", options.types, "types like job.completed or job.*; without it all")
      ->type_name("TYPES")
      ->delimiter(',');
  app.add_option("--pool", options.pool, "only events of this pool")->type_name("POOL");
  app.add_option("--description", options.description, "for people")->type_name("TEXT");
}

void addDeliveryOptions(CLI::App& app, WebhookDeliveriesCommand& options) {
  app.add_option("--status", options.status, "pending, delivered or failed")
      ->type_name("STATUS")
      ->check(CLI::IsMember({"pending", "delivered", "failed"}));
  app.add_option("--resend", options.resend, "deliver this one once more")->type_name("DELIVERY");
}

}  // namespace muster
