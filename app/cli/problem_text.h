#pragma once

#include <string>

#include "app/client/api_client.h"

namespace muster {

// A refusal in words: title and detail, a line for every bad field, and the request id to look
// for in the service's log. Also for answers that are no problem documents.
std::string problemText(const HttpAnswer& answer);

// What to do when the service cannot be reached.
std::string unreachableText(const std::string& url, const Unreachable& reason);

}  // namespace muster
