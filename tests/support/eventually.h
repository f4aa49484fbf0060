#pragma once

#include <chrono>
#include <functional>

namespace muster::test {

using namespace std::chrono_literals;

// Long enough for a loaded machine; a test that waits this long has failed.
constexpr std::chrono::milliseconds kPatience = 20s;

// Asks `condition` again and again until it holds; false when the deadline passes first.
bool eventually(std::chrono::milliseconds deadline, const std::function<bool()>& condition);

}  // namespace muster::test
