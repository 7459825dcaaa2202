#include "server/scheduler/store_writer.h"

namespace neffcache {

StoreWriter::StoreWriter() : thread_([this] { Run(); }) {}

StoreWriter::~StoreWriter() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void StoreWriter::Post(const Key& key, Write write) {
  absl::MutexLock lock(&mutex_);
  ++pending_[key];
  writes_.emplace_back(key, std::move(write));
}

void StoreWriter::Await(const Key& key) {
  absl::MutexLock lock(&mutex_);
  const auto done = [&] {
    mutex_.AssertReaderHeld();
    return !pending_.contains(key);
  };
  mutex_.Await(absl::Condition(&done));
}

void StoreWriter::Run() {
  absl::MutexLock lock(&mutex_);
  while (true) {
    mutex_.Await(absl::Condition(this, &StoreWriter::Due));
    if (writes_.empty()) return;
    const auto [key, write] = std::move(writes_.front());
    writes_.pop_front();
    mutex_.Unlock();
    write();
    mutex_.Lock();
    if (const auto pending = pending_.find(key); --pending->second == 0) pending_.erase(pending);
  }
}

}  // namespace neffcache
