# Every format, in the order in which readers are asked (it matters only between readers that both answer "certain": the first
# wins) and in which help lists them.
#
# memtool_format(<name> [READERS <name>=<class>...] [WRITERS <name>=<class>...]
#                [HEADERS <file>...]      of these classes; without it <name>/<name>_reader.h, for writers <name>/<name>_writer.h
#                [SOURCES <pattern>...]   without it <name>/*.cc, with folders below; a later line takes them from an earlier one
#                [LINKS <library>...])    found in cmake/MemtoolFormats.cmake
#
# A build can leave out any of them (MEMTOOL_FORMATS). What is left out is known by its names; where the rest of the program
# calls it, <name>/left_out.cc stands in for it.
memtool_format(pprof READERS pprof=PprofReader)
memtool_format(torch_snapshot READERS torch_snapshot=TorchSnapshotReader)
memtool_format(mxnet READERS mxnet=MxnetReader mxnet-stacks=MxnetStacksReader)
memtool_format(capture_log READERS capture_log=CaptureLogReader LINKS ${MEMTOOL_LIBDW})
memtool_format(rocprof READERS rocprof=RocprofReader)
memtool_format(rmm READERS rmm=RmmReader raft=RaftReader HEADERS rmm/raft_reader.h rmm/rmm_reader.h)
memtool_format(kineto READERS kineto=KinetoReader)
memtool_format(hlo READERS hlo=HloReader hlo-text=HloTextReader)
memtool_format(torch_timeline READERS torch_timeline=TorchTimelineReader)
memtool_format(xplane READERS xplane=XplaneReader trace-json=TraceJsonReader
  HEADERS xplane/trace_json_reader.h xplane/xplane_reader.h)
memtool_format(ascend READERS ascend=AscendReader memscope=MemscopeReader
  HEADERS ascend/ascend_reader.h ascend/memscope_reader.h)
memtool_format(oom_text READERS log=LogReader oom-text=OomTextReader bfc-dump=BfcDumpReader HEADERS oom_text/text_readers.h
  SOURCES oom_text/*.cc log/*.cc LINKS yaml-cpp)
memtool_format(metrics READERS tfevents=TfeventsReader wandb=WandbReader metrics-csv=MetricsCsvReader metrics-json=MetricsJsonReader
  HEADERS metrics/metrics_readers.h)
memtool_format(pprof_writer WRITERS pprof=PprofWriter HEADERS pprof/pprof_writer.h SOURCES pprof/pprof_writer.cc LINKS pprof_proto)
memtool_format(folded WRITERS folded=FoldedWriter)
memtool_format(json_dump WRITERS json=JsonDumpWriter)
memtool_format(timeline_writers WRITERS chrome=ChromeWriter perfetto=PerfettoWriter
  HEADERS timeline_writers/chrome_writer.h timeline_writers/perfetto_writer.h)
memtool_format(sqlite READERS rocpd=RocpdReader ascend-db=AscendDbReader nsys=NsysReader WRITERS sqlite=SqliteWriter
  HEADERS ascend_db/ascend_db_reader.h nsys/nsys_reader.h rocpd/rocpd_reader.h sqlite/sqlite_writer.h
  SOURCES ascend_db/*.cc nsys/*.cc rocpd/*.cc sqlite/*.cc
  LINKS PkgConfig::sqlite3)
memtool_format(torch_snapshot_writer WRITERS torch_snapshot=TorchSnapshotWriter
  HEADERS torch_snapshot/write/snapshot_writer.h SOURCES torch_snapshot/write/*.cc)
memtool_format(memtool_file READERS memtool=MemtoolReader HEADERS memtool_file/memtool_reader.h)
memtool_format(memtool_file_writer WRITERS memtool=MemtoolWriter HEADERS memtool_file/memtool_writer.h
  SOURCES memtool_file/*_packer.cc memtool_file/*_writer.cc)
# Files that are no recordings: commands ask for them by name.
memtool_format(ground_truth SOURCES documents/ground_truth/*.cc LINKS EXPAT::EXPAT)
memtool_format(keywords SOURCES documents/keywords/*.cc LINKS yaml-cpp)
memtool_format(log_patterns)
