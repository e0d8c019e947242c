// SPDX-License-Identifier: MIT
// Values that several points of a study share, each made by the first that wants it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace orrery::study {

// Values by a key that stands for all that a value depends on (key_of() of study/points/store.h).
template <class Value>
class SharedValues {
 public:
  // The value of the key, or that of `make`, which is then kept. Any thread may call; those that want the same value at
  // once wait for it. What `make` throws comes out, and the next that wants the value makes it.
  Value get(const std::string& key, const std::function<Value()>& make) {
    const std::shared_ptr<Entry> entry = entry_of(key);
    const std::lock_guard lock(entry->making);
    if (!entry->value) entry->value.emplace(make());
    return *entry->value;
  }

 private:
  struct Entry {
    std::mutex making;
    std::optional<Value> value;
  };

  std::shared_ptr<Entry> entry_of(const std::string& key) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Entry>& entry = entries_[key];
    if (entry == nullptr) entry = std::make_shared<Entry>();
    return entry;
  }

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

}  // namespace orrery::study
