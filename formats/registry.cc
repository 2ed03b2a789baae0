// The only file that names every reader and writer. Order matters only between readers that both
// answer "certain": the first wins. What MEMTOOL_FORMATS leaves out is not in the lists.
#include <vector>

#include "memtool/formats/reader.h"
#include "memtool/formats/writer.h"
#ifdef MEMTOOL_HAVE_CAPTURE_LOG
#  include "capture_log/capture_log_reader.h"
#endif
#ifdef MEMTOOL_HAVE_FOLDED
#  include "folded/folded_writer.h"
#endif
#ifdef MEMTOOL_HAVE_HLO
#  include "hlo/hlo_reader.h"
#endif
#ifdef MEMTOOL_HAVE_JSON_DUMP
#  include "json_dump/json_dump_writer.h"
#endif
#ifdef MEMTOOL_HAVE_KINETO
#  include "kineto/kineto_reader.h"
#endif
#ifdef MEMTOOL_HAVE_MEMTOOL_FILE
#  include "memtool_file/memtool_reader.h"
#endif
#ifdef MEMTOOL_HAVE_MEMTOOL_FILE_WRITER
#  include "memtool_file/memtool_writer.h"
#endif
#ifdef MEMTOOL_HAVE_MXNET
#  include "mxnet/mxnet_reader.h"
#endif
#ifdef MEMTOOL_HAVE_OOM_TEXT
#  include "oom_text/text_readers.h"
#endif
#ifdef MEMTOOL_HAVE_PPROF
#  include "pprof/pprof_reader.h"
#endif
#ifdef MEMTOOL_HAVE_PPROF_WRITER
#  include "pprof/pprof_writer.h"
#endif
#ifdef MEMTOOL_HAVE_SQLITE
#  include "nsys/nsys_reader.h"
#  include "sqlite/sqlite_writer.h"
#endif
#ifdef MEMTOOL_HAVE_TIMELINE_WRITERS
#  include "timeline_writers/chrome_writer.h"
#  include "timeline_writers/perfetto_writer.h"
#endif
#ifdef MEMTOOL_HAVE_TORCH_SNAPSHOT
#  include "torch_snapshot/torch_snapshot_reader.h"
#  include "torch_snapshot/write/snapshot_writer.h"
#endif
#ifdef MEMTOOL_HAVE_TORCH_TIMELINE
#  include "torch_timeline/torch_timeline_reader.h"
#endif
#ifdef MEMTOOL_HAVE_XPLANE
#  include "xplane/trace_json_reader.h"
#  include "xplane/xplane_reader.h"
#endif

namespace memtool::formats {

namespace {

// The single instance of a kind; readers and writers have no state.
template <class Kind>
const Kind* The() {
  static const Kind one;
  return &one;
}

}  // namespace

std::span<const Reader* const> Readers() {
  static const std::vector<const Reader*> readers{
#ifdef MEMTOOL_HAVE_PPROF
      The<PprofReader>(),
#endif
#ifdef MEMTOOL_HAVE_TORCH_SNAPSHOT
      The<TorchSnapshotReader>(),
#endif
#ifdef MEMTOOL_HAVE_MXNET
      The<MxnetReader>(),  // and what is written alongside:
      The<MxnetStacksReader>(),
#endif
#ifdef MEMTOOL_HAVE_CAPTURE_LOG
      The<CaptureLogReader>(),
#endif
#ifdef MEMTOOL_HAVE_KINETO
      The<KinetoReader>(),
#endif
#ifdef MEMTOOL_HAVE_HLO
      The<HloReader>(),  // and as text:
      The<HloTextReader>(),
#endif
#ifdef MEMTOOL_HAVE_TORCH_TIMELINE
      The<TorchTimelineReader>(),
#endif
#ifdef MEMTOOL_HAVE_XPLANE
      The<XplaneReader>(),  // and as JSON:
      The<TraceJsonReader>(),
#endif
#ifdef MEMTOOL_HAVE_OOM_TEXT
      The<OomTextReader>(),       The<BfcDumpReader>(),
#endif
#ifdef MEMTOOL_HAVE_SQLITE
      The<NsysReader>(),
#endif
#ifdef MEMTOOL_HAVE_MEMTOOL_FILE
      The<MemtoolReader>(),
#endif
  };
  return readers;
}

std::span<const Writer* const> Writers() {
  static const std::vector<const Writer*> writers{
#ifdef MEMTOOL_HAVE_PPROF_WRITER
      The<PprofWriter>(),
#endif
#ifdef MEMTOOL_HAVE_FOLDED
      The<FoldedWriter>(),
#endif
#ifdef MEMTOOL_HAVE_JSON_DUMP
      The<JsonDumpWriter>(),
#endif
#ifdef MEMTOOL_HAVE_TIMELINE_WRITERS
      The<ChromeWriter>(),        The<PerfettoWriter>(),
#endif
#ifdef MEMTOOL_HAVE_SQLITE
      The<SqliteWriter>(),
#endif
#ifdef MEMTOOL_HAVE_TORCH_SNAPSHOT
      The<TorchSnapshotWriter>(),
#endif
#ifdef MEMTOOL_HAVE_MEMTOOL_FILE_WRITER
      The<MemtoolWriter>(),
#endif
  };
  return writers;
}

}  // namespace memtool::formats
