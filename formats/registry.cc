// The only file that names every reader. Order matters only between readers that both answer
// "certain": the first wins.
#include <array>

#include "capture_log/capture_log_reader.h"
#include "memtool/formats/reader.h"
#include "pprof/pprof_reader.h"
#include "torch_snapshot/torch_snapshot_reader.h"

namespace memtool::formats {

std::span<const Reader* const> Readers() {
  static const PprofReader pprof;
  static const TorchSnapshotReader torch_snapshot;
  static const CaptureLogReader capture_log;
  static const std::array<const Reader*, 3> readers{&pprof, &torch_snapshot, &capture_log};
  return readers;
}

}  // namespace memtool::formats
