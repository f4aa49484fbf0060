#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzz_target.h"

// libFuzzer calls this; the program holds one target.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::test::FuzzTarget::all().front().run({reinterpret_cast<const char*>(data), size});
  return 0;
}
