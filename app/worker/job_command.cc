#include "app/worker/job_command.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "app/client/json_fields.h"
#include "app/worker/command_process.h"

namespace muster {
namespace {

constexpr std::size_t kChunk = 65'536;

// A pipe holds no more; what comes later was written by somebody who got away from the group.
constexpr std::size_t kMostLeftInPipe = 1 << 20;

// Closes the pipe when the command does not read (any more), or has got everything.
void feed(Descriptor& pipe, std::string_view& input) {
  while (!input.empty()) {
    const ssize_t count = ::write(pipe.get(), input.data(), std::min(input.size(), kChunk));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) break;
    input.remove_prefix(static_cast<std::size_t>(count));
  }
  pipe.close();
}

// The bytes that were read; 0 when there are none now. Closes the pipe at its end.
std::size_t drain(Descriptor& pipe, CommandOutput& to) {
  std::array<char, kChunk> buffer;
  ssize_t count = 0;
  do {
    count = ::read(pipe.get(), buffer.data(), buffer.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == EAGAIN) return 0;
  if (count <= 0) {
    pipe.close();
    return 0;
  }
  to.add({buffer.data(), static_cast<std::size_t>(count)});
  return static_cast<std::size_t>(count);
}

void drainRest(Descriptor& pipe, CommandOutput& to) {
  for (std::size_t total = 0; pipe.isOpen() && total < kMostLeftInPipe;) {
    const std::size_t count = drain(pipe, to);
    if (count == 0) return;
    total += count;
  }
}

// Waits for the pipes and for the watch, and moves what can be moved.
void pump(CommandProcess& process, std::string_view& input, JobEnd& end, const WorkerWatch& watch,
          const std::function<void()>& meanwhile, int timeout_ms) {
  // poll() passes over descriptors that are -1.
  std::array<pollfd, 4> ready{{{watch.wakeUp().fd(), POLLIN, 0},
                               {process.input().get(), POLLOUT, 0},
                               {process.output().get(), POLLIN, 0},
                               {process.errors().get(), POLLIN, 0}}};
  if (::poll(ready.data(), ready.size(), timeout_ms) <= 0) return;
  if (ready[0].revents != 0) {
    watch.wakeUp().clear();
    if (meanwhile) meanwhile();
  }
  if (ready[1].revents != 0) feed(process.input(), input);
  if (ready[2].revents != 0) drain(process.output(), end.output);
  if (ready[3].revents != 0) drain(process.errors(), end.errors);
}

}  // namespace

JobEnd runCommand(const JobCommand& command, WorkerWatch& watch) {
  JobEnd end{.output = CommandOutput(command.max_output), .errors = CommandOutput(0)};
  if (command.spill) end.output.spillTo(command.spill);
  auto process = CommandProcess::start(command.argv, command.env);
  if (!process) {
    end.kind = JobEnd::Kind::kNotStarted;
    end.code = process.error();
    return end;
  }
  std::string_view input = command.input;
  if (input.empty()) process->input().close();
  std::optional<WorkerWatch::Moment> kill_at;
  while (true) {
    if (end.stopped == StopReason::kNone) {
      end.stopped = watch.stopReason();
      if (end.stopped != StopReason::kNone) {
        process->signalGroup(SIGTERM);
        kill_at = watch.now() + command.grace;
      }
    } else if (kill_at && watch.now() >= *kill_at) {
      process->signalGroup(SIGKILL);
      kill_at.reset();
    }
    if (const auto exit = process->reap()) {
      drainRest(process->output(), end.output);
      drainRest(process->errors(), end.errors);
      end.kind = exit->signal ? JobEnd::Kind::kSignalled : JobEnd::Kind::kExited;
      end.code = exit->signal ? *exit->signal : *exit->code;
      end.max_rss_bytes = exit->max_rss_bytes;
      return end;
    }
    const int timeout_ms = end.stopped == StopReason::kNone ? watch.millisUntilDeadline()
                           : kill_at                        ? watch.millisUntil(*kill_at)
                                                            : -1;
    pump(*process, input, end, watch, command.meanwhile, timeout_ms);
  }
}

EchoJob readEcho(const std::string& data) {
  constexpr double kLongest = 3600;
  EchoJob job;
  const auto json = JsonAnswer::parse(data);
  if (!json) return job;
  if (const auto delay = member(json->root(), "delay_seconds")) {
    const double seconds = std::clamp(delay->number().value_or(0), 0.0, kLongest);
    job.delay = Millis(static_cast<std::int64_t>(seconds * 1000));
  }
  if (const auto fault = member(json->root(), "fail")) {
    job.fault = fault->string().value_or(std::string(fault->raw()));
  }
  return job;
}

JobEnd runEcho(const EchoJob& job, const std::string& data, std::size_t max_output,
               WorkerWatch& watch) {
  JobEnd end{.output = CommandOutput(max_output), .errors = CommandOutput(0)};
  const auto until = watch.now() + job.delay;
  while (watch.now() < until) {
    end.stopped = watch.stopReason();
    if (end.stopped != StopReason::kNone) return end;
    watch.wait(std::min(until, watch.now() + Millis(watch.millisUntilDeadline())));
  }
  if (job.fault) {
    end.code = 1;
    end.errors.add(*job.fault);
  } else {
    end.output.add(data);
  }
  return end;
}

}  // namespace muster
