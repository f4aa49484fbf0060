#pragma once

#include <string>

#include "tests/support/pool_client.h"
#include "tests/support/service.h"

namespace muster::test {

// A service that launches one worker: a shell that runs a script and ends.
class Probe {
 public:
  // `script` stands in single quotes, and `more` are further keys of its template, like
  // ", user: nobody".
  explicit Probe(const std::string& script, ServiceOptions options = {},
                 const std::string& more = "");

  Service& service() { return service_; }
  // What the script has printed; waits until it has ended.
  std::string output();

 private:
  Service service_;
  PoolClient pool_;
};

}  // namespace muster::test
