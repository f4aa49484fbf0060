#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "app/config/closest_name.h"
#include "app/config/yaml_source.h"
#include "models/ids.h"

namespace muster {
namespace {

constexpr std::string_view kTokenShape = "{name: ci, sha256: …, scopes: [read, produce]}";
constexpr std::string_view kClientShape =
    "{name: render-farm, subject: farm.example.org, scopes: [work]}";

bool isHex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

void readName(YamlSource& source, const YamlNode& node, AccessToken& token) {
  if (!source.isText(node, "name", "a name")) return;
  if (!isValidId(node.text)) {
    source.fault(node.mark, "name of a caller: expected 1 to 128 letters, digits or . _ ~ : -");
    return;
  }
  token.name = node.text;
}

// The value is never shown: it may be the token itself, put here by mistake.
void readHash(YamlSource& source, const YamlNode& node, AccessToken& token) {
  constexpr std::string_view kExpected = "64 hex digits, the SHA-256 of the token";
  if (!source.isText(node, "sha256", kExpected)) return;
  if (node.text.size() != 64 || !std::all_of(node.text.begin(), node.text.end(), isHex)) {
    source.fault(node.mark, fmt::format("sha256 is not a hash, expected {}", kExpected));
    return;
  }
  token.sha256 = node.text;
  for (char& c : token.sha256) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

void readScopes(YamlSource& source, const YamlNode& node, AccessToken& token) {
  constexpr std::string_view kExpected = "a list of read, produce, work, admin";
  if (!source.isList(node, "scopes", kExpected)) return;
  if (node.items.empty()) source.fault(node.mark, fmt::format("no scopes, expected {}", kExpected));
  for (const auto& item : node.items) {
    if (!source.isText(item, "a scope", "read, produce, work or admin")) continue;
    if (const auto grant = parseGrant(item.text)) {
      token.scopes.push_back(*grant);
    } else {
      source.fault(
          item.mark,
          fmt::format("unknown scope \"{}\", expected read, produce, work or admin, alone or "
                      "for pools like produce:emails or produce:team.*",
                      item.text.substr(0, 80)));
    }
  }
}

void readExpiry(YamlSource& source, const YamlNode& node, AccessToken& token) {
  constexpr std::string_view kExpected = "a time like 2027-01-31T00:00:00Z";
  if (!source.isText(node, "expires_at", kExpected)) return;
  token.expires_at = parseTime(node.text);
  if (token.expires_at) return;
  source.fault(node.mark, fmt::format("expires_at is \"{}\", expected {}", node.text.substr(0, 80),
                                      kExpected));
}

AccessToken readToken(YamlSource& source, const YamlNode& node) {
  AccessToken token;
  bool has_name = false, has_hash = false, has_scopes = false;
  for (const auto& entry : node.entries) {
    if (entry.key == "name") {
      has_name = true;
      readName(source, entry.value, token);
    } else if (entry.key == "sha256") {
      has_hash = true;
      readHash(source, entry.value, token);
    } else if (entry.key == "scopes") {
      has_scopes = true;
      readScopes(source, entry.value, token);
    } else if (entry.key == "expires_at") {
      readExpiry(source, entry.value, token);
    } else {
      source.faultUnknown(entry, {"name", "sha256", "scopes", "expires_at"});
    }
  }
  if (!has_name) source.fault(node.mark, "token without name");
  if (!has_hash) source.fault(node.mark, "token without sha256 (`muster token` makes one)");
  if (!has_scopes) source.fault(node.mark, "token without scopes");
  return token;
}

void checkUnique(YamlSource& source, const YamlNode& node, const AccessToken& token) {
  for (const auto& other : source.settings().tokens) {
    if (!token.name.empty() && other.name == token.name) {
      source.fault(node.mark, fmt::format("a second token named \"{}\"", token.name));
    }
    if (!token.sha256.empty() && other.sha256 == token.sha256) {
      source.fault(node.mark, fmt::format("the same sha256 as token \"{}\"", other.name));
    }
  }
}

// The common name alone, as it stands in the certificate.
void readSubject(YamlSource& source, const YamlNode& node, TlsClient& client) {
  constexpr std::string_view kExpected =
      "the common name of a certificate, like farm.example.org, without CN=";
  if (!source.isText(node, "subject", kExpected)) return;
  if (node.text.empty() || node.text.size() > 64 || node.text.starts_with("CN=")) {
    source.fault(node.mark,
                 fmt::format("subject is \"{}\", expected {}", node.text.substr(0, 80), kExpected));
    return;
  }
  client.subject = node.text;
}

TlsClient readTlsClient(YamlSource& source, const YamlNode& node) {
  TlsClient client;
  AccessToken common;  // a caller too: the name and the scopes are written as those of a token
  bool has_name = false, has_subject = false, has_scopes = false;
  for (const auto& entry : node.entries) {
    if (entry.key == "name") {
      has_name = true;
      readName(source, entry.value, common);
    } else if (entry.key == "subject") {
      has_subject = true;
      readSubject(source, entry.value, client);
    } else if (entry.key == "scopes") {
      has_scopes = true;
      readScopes(source, entry.value, common);
    } else {
      source.faultUnknown(entry, {"name", "subject", "scopes"});
    }
  }
  if (!has_name) source.fault(node.mark, "client without name");
  if (!has_subject) source.fault(node.mark, "client without subject");
  if (!has_scopes) source.fault(node.mark, "client without scopes");
  client.name = std::move(common.name);
  client.scopes = std::move(common.scopes);
  return client;
}

void checkUnique(YamlSource& source, const YamlNode& node, const TlsClient& client) {
  for (const auto& token : source.settings().tokens) {
    if (!client.name.empty() && token.name == client.name) {
      source.fault(node.mark, fmt::format("a token is named \"{}\" already", client.name));
    }
  }
  for (const auto& other : source.settings().tls_clients) {
    if (!client.name.empty() && other.name == client.name) {
      source.fault(node.mark, fmt::format("a second client named \"{}\"", client.name));
    }
    if (!client.subject.empty() && other.subject == client.subject) {
      source.fault(node.mark, fmt::format("the same subject as client \"{}\"", other.name));
    }
  }
}

}  // namespace

void readYamlTlsClients(YamlSource& source, const YamlNode& node) {
  if (!source.isList(node, "tls_clients", fmt::format("a list of {}", kClientShape))) return;
  for (const auto& item : node.items) {
    if (!source.isMap(item, "a client", kClientShape)) continue;
    TlsClient client = readTlsClient(source, item);
    checkUnique(source, item, client);
    source.settings().tls_clients.push_back(std::move(client));
  }
}

void readYamlTokens(YamlSource& source, const YamlNode& node) {
  if (!source.isList(node, "tokens", fmt::format("a list of {}", kTokenShape))) return;
  for (const auto& item : node.items) {
    if (!source.isMap(item, "a token", kTokenShape)) continue;
    AccessToken token = readToken(source, item);
    checkUnique(source, item, token);
    source.settings().tokens.push_back(std::move(token));
  }
}

}  // namespace muster
