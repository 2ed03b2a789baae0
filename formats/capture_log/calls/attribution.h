// Whom a call belongs to: its attribute set, its domain, and what its pool says of that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "capture_log/calls/call.h"
#include "capture_log/log/definitions.h"
#include "memtool/profile/base/key_hash.h"

namespace memtool::formats::capture_log {

class Attribution {
 public:
  explicit Attribution(const Definitions& definitions) : definitions_(definitions) {}

  // nullptr where the definition is lost, which is counted.
  const AttributesRow* GetAttributes(const Call& call);
  const DomainRow* GetDomain(const AttributesRow& attributes);
  // The domain, on the device of the call's pool and of its kind of memory: the log names the
  // thread's current device and memory of devices. Valid until the next call.
  const DomainRow* DomainInPool(const AttributesRow& attributes);

  // `made` is the call that said so; its domain has the kind. Without a device, its memory is the
  // current device's.
  void SetPool(std::uint64_t pool, const Call& made, std::optional<std::int32_t> device);

  // Definitions that were looked up and are lost.
  [[nodiscard]] std::uint64_t unknown() const { return unknown_; }

 private:
  struct PoolRow {
    std::optional<std::int32_t> device;
    wire::Kind kind = wire::Kind::kDevice;
    std::string domain;  // its name, where the kind is not kDevice
  };

  const Definitions& definitions_;
  KeyMap<std::uint64_t, PoolRow> pools_;
  DomainRow moved_;
  std::uint64_t unknown_ = 0;
};

}  // namespace memtool::formats::capture_log
