#include "app/tls/tls_identity.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace muster {
namespace {

// Takes the text over under the path that is known already.
void replaceText(std::unique_ptr<MemoryFile>& file, std::unique_ptr<MemoryFile> by) {
  if (file) {
    file->replaceBy(*by);
  } else {
    file = std::move(by);
  }
}

}  // namespace

bool TlsIdentity::FileStamp::operator==(const FileStamp& other) const {
  return changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec &&
         size == other.size && inode == other.inode;
}

TlsIdentity::FileStamp TlsIdentity::stampOf(const std::string& file) {
  struct stat found {};
  if (file.empty() || ::stat(file.c_str(), &found) != 0) return {};
  return {found.st_mtim, found.st_size, found.st_ino};
}

TlsIdentity::Stamps TlsIdentity::stamps() const {
  return {stampOf(settings_.tls_cert), stampOf(settings_.tls_key),
          stampOf(settings_.tls_client_ca)};
}

// What was in force stays so when there is an error.
std::optional<std::string> TlsIdentity::take() {
  read_ = stamps();  // before the files are read: what changes meanwhile is seen as a change
  auto read = readServiceCertificate(settings_);
  if (!read) return read.error();
  auto pair = std::make_unique<MemoryFile>(read->chain + read->key);
  if (const auto obstacle = obstacleToServe(pair->path())) {
    return fmt::format("tls_cert {} and tls_key {} cannot be used: {}", settings_.tls_cert,
                       settings_.tls_key, *obstacle);
  }
  replaceText(pair_, std::move(pair));
  if (!read->client_ca.empty()) {
    replaceText(client_ca_, std::make_unique<MemoryFile>(read->client_ca));
  }
  certificate_ = *std::move(read);
  if (certificate_.expires <= clock_.now()) {
    log_.warn("the certificate has expired",
              {{"tls_cert", settings_.tls_cert}, {"expired_at", formatTime(certificate_.expires)}});
  }
  return std::nullopt;
}

std::optional<std::string> TlsIdentity::open() { return isOn() ? take() : std::nullopt; }

std::vector<std::pair<std::string, std::string>> TlsIdentity::commands() const {
  if (!client_ca_) return {};
  // No tickets: a session that a ticket resumes would be refused, because the framework does not
  // say which sessions belong together.
  return {{"VerifyCAFile", client_ca_->path()},
          {"ClientCAFile", client_ca_->path()},
          {"VerifyMode", "Request"},
          {"Options", "-SessionTicket"}};
}

void TlsIdentity::publishAt(const std::string& file) {
  if (!isOn()) return;
  published_at_ = file;
  publish();
}

void TlsIdentity::unpublish() {
  if (published_at_.empty()) return;
  std::error_code gone;
  std::filesystem::remove(published_at_, gone);
}

void TlsIdentity::publish() const {
  if (published_at_.empty()) return;
  const std::string draft = published_at_ + ".new";
  std::error_code fault;
  std::filesystem::create_directories(std::filesystem::path(draft).parent_path(), fault);
  std::ofstream stream(draft, std::ios::binary | std::ios::trunc);
  stream << certificate_.chain;
  stream.close();
  if (stream) {
    std::filesystem::rename(draft, published_at_, fault);
  } else {
    fault = std::make_error_code(std::errc::io_error);
  }
  if (!fault) return;
  log_.error("launched workers cannot check the certificate of this service",
             {{"file", published_at_}, {"detail", fault.message()}});
}

bool TlsIdentity::filesChanged() const { return isOn() && !(stamps() == read_); }

bool TlsIdentity::reload() {
  if (!isOn()) return false;
  if (const auto fault = take()) {
    log_.error("the TLS files cannot be used; those read before stay in force",
               {{"detail", *fault}});
    return false;
  }
  publish();
  log_.info("TLS files read again", {{"expires_at", formatTime(certificate_.expires)}});
  return true;
}

bool TlsIdentity::passOver() {
  read_ = stamps();
  return isOn();
}

}  // namespace muster
