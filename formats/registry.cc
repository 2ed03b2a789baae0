// The only file that names every reader and writer. Order matters only between readers that both
// answer "certain": the first wins.
#include <array>

#include "capture_log/capture_log_reader.h"
#include "folded/folded_writer.h"
#include "json_dump/json_dump_writer.h"
#include "kineto/kineto_reader.h"
#include "memtool/formats/reader.h"
#include "memtool/formats/writer.h"
#include "mxnet/mxnet_reader.h"
#include "pprof/pprof_reader.h"
#include "pprof/pprof_writer.h"
#include "torch_snapshot/torch_snapshot_reader.h"
#include "torch_snapshot/write/snapshot_writer.h"
#include "torch_timeline/torch_timeline_reader.h"

namespace memtool::formats {

std::span<const Reader* const> Readers() {
  static const PprofReader pprof;
  static const TorchSnapshotReader torch_snapshot;
  static const MxnetReader mxnet;
  static const MxnetStacksReader mxnet_stacks;
  static const CaptureLogReader capture_log;
  static const KinetoReader kineto;
  static const TorchTimelineReader torch_timeline;
  static const auto readers = std::to_array<const Reader*>(
      {&pprof, &torch_snapshot, &mxnet, &mxnet_stacks, &capture_log, &kineto, &torch_timeline});
  return readers;
}

std::span<const Writer* const> Writers() {
  static const PprofWriter pprof;
  static const FoldedWriter folded;
  static const JsonDumpWriter json_dump;
  static const TorchSnapshotWriter torch_snapshot;
  static const auto writers =
      std::to_array<const Writer*>({&pprof, &folded, &json_dump, &torch_snapshot});
  return writers;
}

}  // namespace memtool::formats
