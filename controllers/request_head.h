#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

// The head of an HTTP/1 request at the front of the bytes that a connection has received.
struct RequestHead {
  enum class State {
    kIncomplete,  // more bytes are needed
    kComplete,    // all members are set
    kUnclear,     // where the request ends is for the framework to find out
  };
  State state = State::kIncomplete;
  std::string_view method = {};
  std::size_t size = 0;       // bytes of the head, with the empty line at its end
  std::size_t body_size = 0;  // bytes of the body, by Content-Length
};

// Reads the head at the front of `bytes`. A head is unclear if its method or a line is malformed,
// if the body is chunked, or if the framework could count the body in another way.
RequestHead readRequestHead(std::string_view bytes);

// The framework refuses methods that it does not know with a bare status line. So that such a
// request reaches the gateway, its method becomes OPTIONS and stands in front of the path: "TRACE
// /healthz" becomes "OPTIONS /~method/TRACE/healthz".
bool isFrameworkMethod(std::string_view method);
std::string beginOfRenamed(std::string_view method);  // replaces the method and the space behind it

// Undoes that: takes the method off the front of `path`. Empty if the path names none.
std::string_view takeRenamedMethod(std::string_view& path);

}  // namespace muster
