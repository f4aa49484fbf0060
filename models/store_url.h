#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace muster {

// The setting `store`: sqlite:PATH, memory: or postgresql://…. Reading such a URL needs no
// database.
bool isPostgres(std::string_view url);
// For logs and messages.
std::string withoutPassword(const std::string& url);
// The same text with a '*' for each character of its passwords.
std::string coverPassword(std::string url);
// The path behind sqlite:PATH, or ":memory:". The error names the forms that are known.
tl::expected<std::string, std::string> sqlitePath(const std::string& url);

}  // namespace muster
