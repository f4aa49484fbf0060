#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/ids.h"
#include "models/time.h"

namespace muster {

constexpr std::size_t kMaxErrorClass = 128;  // bytes

// What errors of one cause have in common, for workers that do not say it: the line of the text
// that names the error, with `#` for what is a number and `*` for what is quoted. Never empty.
std::string errorClass(std::string_view error);

struct CircuitRules {
  std::int64_t failures = 0;  // of one class in a row that open it; 0: nothing does
  Millis window{300'000};     // in which they must lie
  Millis probe_after{30'000};
  Millis probe_cap{600'000};
};

enum class CircuitState { kClosed, kOpen, kProbing };
std::string_view name(CircuitState state);

// How the tries of a pool have gone lately. As it is made, nothing has failed.
struct CircuitRecord {
  std::string error_class;        // of the failures in a row
  std::string error;              // the first of them
  std::int64_t failures = 0;      // in a row, of that class
  std::vector<Time> recent;       // while it is closed: when they were
  std::optional<Time> opened_at;  // absent: it is closed
  Time probe_at;                  // while it is open: when the next job may be given out
  Millis wait{0};                 // that was waited for it
  JobId probe;                    // the job in hand that decides; empty: none

  CircuitState state() const;
  bool isClean() const { return failures == 0 && !opened_at; }
  bool operator==(const CircuitRecord&) const = default;
};

// How many jobs may be given out now; absent: no bound.
std::optional<std::int64_t> circuitAllowance(const CircuitRecord& record, Time now);

// The same without failures that are too old to count.
CircuitRecord aged(CircuitRecord record, const CircuitRules& rules, Time now);

// What a try that failed does to the circuit.
struct CircuitVerdict {
  CircuitRecord record;
  bool excused = false;  // the try is given back: it is not the job that is at fault
  bool closed = false;   // it was not closed before
  bool opened = false;   // also when it was open before, and its probe has failed
};
CircuitVerdict judgeCircuit(CircuitRecord record, const CircuitRules& rules, const JobId& job,
                            std::string_view error_class, std::string_view error, Time now);

// The job's try ended and says nothing about the cause (its worker vanished, or gave it back): when
// it was the probe, another may go.
CircuitRecord withoutProbe(CircuitRecord record, const JobId& job);

}  // namespace muster
