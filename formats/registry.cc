// The only file that names every reader. Order matters only between readers that both answer
// "certain": the first wins.
#include <array>

#include "capture_log/capture_log_reader.h"
#include "memtool/formats/reader.h"
#include "mxnet/mxnet_reader.h"
#include "pprof/pprof_reader.h"
#include "torch_snapshot/torch_snapshot_reader.h"

namespace memtool::formats {

std::span<const Reader* const> Readers() {
  static const PprofReader pprof;
  static const TorchSnapshotReader torch_snapshot;
  static const MxnetReader mxnet;
  static const MxnetStacksReader mxnet_stacks;
  static const CaptureLogReader capture_log;
  static const auto readers =
      std::to_array<const Reader*>({&pprof, &torch_snapshot, &mxnet, &mxnet_stacks, &capture_log});
  return readers;
}

}  // namespace memtool::formats
