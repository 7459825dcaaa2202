#pragma once

#include <memory>
#include <utility>

namespace neffcache {

// A gRPC reactor that owns itself until OnDone, the last thing gRPC does with it, and is shared
// with the tasks that work for it on other threads: one that comes late finds a live object.
//
// `Derived` must not start an operation after Finish.
template <typename Reactor, typename Derived>
class SelfOwned : public Reactor, public std::enable_shared_from_this<Derived> {
 public:
  // The pointer is for gRPC; it dies by itself.
  template <typename... Args>
  static Derived* Create(Args&&... args) {
    auto reactor = std::make_shared<Derived>(std::forward<Args>(args)...);
    Derived* raw = reactor.get();
    raw->self_ = std::move(reactor);
    raw->Start();
    return raw;
  }

  void OnDone() final { std::shared_ptr<Derived>(std::move(self_)).reset(); }

 private:
  std::shared_ptr<Derived> self_;
};

}  // namespace neffcache
