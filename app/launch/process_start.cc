#include "app/launch/process_start.h"

#include <sys/stat.h>

namespace muster {
namespace {

// Set before there is a second thread.
std::optional<mode_t> umask_at_start;

}  // namespace

void keepFilesPrivate() { umask_at_start = ::umask(S_IRWXG | S_IRWXO); }

std::optional<mode_t> umaskAtStart() { return umask_at_start; }

}  // namespace muster
