#pragma once

#include <chrono>
#include <functional>

namespace muster::test {

using namespace std::chrono_literals;

// Far longer than a thread or a process stands still on a loaded machine: a test that waits this
// long has failed. A test that is green never waits for it.
constexpr std::chrono::milliseconds kPatience = 60s;

// Asks `condition` again and again until it holds; false when the deadline passes first.
bool eventually(std::chrono::milliseconds deadline, const std::function<bool()>& condition);

}  // namespace muster::test
