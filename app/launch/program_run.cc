#include "app/launch/program_run.h"

#include <fmt/format.h>

#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/error.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/handles.hpp>
#include <boost/process/io.hpp>
#include <condition_variable>
#include <mutex>

namespace muster {
namespace {

namespace bp = boost::process;

constexpr Millis kLook{20};

// False when it was cut short.
bool pause(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, kLook, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace

std::optional<std::string> runProgram(const std::vector<std::string>& argv, Millis at_most,
                                      const std::stop_token& stop) {
  std::error_code fault;
  bp::child child(
      bp::exe = argv.front(), bp::args = std::vector<std::string>(argv.begin() + 1, argv.end()),
      bp::std_in<bp::null, bp::std_out> bp::null, bp::std_err > bp::null, bp::limit_handles, fault);
  if (fault) return fmt::format("could not be started: {}", fault.message());
  // Only this child is waited for, and by looking: signals of children are not ours to take.
  for (Millis passed{0}; child.running(fault); passed += kLook) {
    if (passed < at_most && pause(stop)) continue;
    child.terminate(fault);
    return stop.stop_requested() ? "was stopped" : "took too long";
  }
  if (fault) return fmt::format("was lost: {}", fault.message());
  if (child.exit_code() == 0) return std::nullopt;
  return fmt::format("ended with {}", child.exit_code());
}

}  // namespace muster
