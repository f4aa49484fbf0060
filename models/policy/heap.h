#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace muster {

// A priority queue that things can be moved out of: on top is the one that comes before all others
// by `Before`.
template <class T, class Before>
class Heap {
 public:
  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  const T& top() const { return items_.front(); }
  void push(T item) {
    items_.push_back(std::move(item));
    std::push_heap(items_.begin(), items_.end(), after);
  }
  T pop() {
    std::pop_heap(items_.begin(), items_.end(), after);
    T item = std::move(items_.back());
    items_.pop_back();
    return item;
  }

 private:
  static bool after(const T& a, const T& b) { return Before{}(b, a); }

  std::vector<T> items_;
};

}  // namespace muster
