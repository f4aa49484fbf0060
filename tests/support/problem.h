#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/support/http.h"

namespace muster::test {

// The reply is a complete problem+json with this status and, unless empty, this code.
testing::AssertionResult isProblem(const Reply& reply, int status, const std::string& code = {});

// The places of all faults that a problem lists.
std::set<std::string> pointers(const Reply& reply);

}  // namespace muster::test
