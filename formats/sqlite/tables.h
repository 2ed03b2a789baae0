// Tables and views of the databases that memtool writes. memtool-convert(1) says what they mean.
#pragma once

namespace memtool::formats::sqlite {

inline constexpr const char* kTables = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE settings(name TEXT, value TEXT);
CREATE TABLE diagnostics(severity TEXT, code TEXT, message TEXT, count INTEGER);
CREATE TABLE texts(id INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE mapping_rows(id INTEGER PRIMARY KEY, file_id INTEGER, build_id_id INTEGER);
CREATE TABLE function_rows(id INTEGER PRIMARY KEY, name_id INTEGER, system_name_id INTEGER,
  file_id INTEGER, start_line INTEGER);
CREATE TABLE frames(id INTEGER PRIMARY KEY, function_id INTEGER, line INTEGER);
CREATE TABLE locations(id INTEGER PRIMARY KEY, mapping_id INTEGER, address INTEGER,
  first_frame INTEGER, frame_count INTEGER);
CREATE TABLE stacks(id INTEGER, position INTEGER, location_id INTEGER,
  PRIMARY KEY(id, position)) WITHOUT ROWID;
CREATE TABLE label_rows(id INTEGER PRIMARY KEY, set_id INTEGER, key_id INTEGER, text_id INTEGER,
  number INTEGER, unit_id INTEGER);
CREATE TABLE sample_types(id INTEGER PRIMARY KEY, type TEXT, unit TEXT, role TEXT);
CREATE TABLE samples(id INTEGER PRIMARY KEY, stack_id INTEGER, label_set INTEGER,
  unknown_size INTEGER);
CREATE TABLE sample_values(sample_id INTEGER, type_id INTEGER, value INTEGER,
  PRIMARY KEY(sample_id, type_id)) WITHOUT ROWID;
CREATE TABLE ledgers(id INTEGER PRIMARY KEY, name TEXT, device INTEGER, kind TEXT, level TEXT,
  parent INTEGER, capacity INTEGER);
CREATE TABLE pools(id INTEGER PRIMARY KEY, name TEXT, device INTEGER, events INTEGER,
  blocks_ledger INTEGER, segments_ledger INTEGER, base_bytes INTEGER, preexisting_bytes INTEGER,
  start_bytes INTEGER, peak_bytes INTEGER, peak_event INTEGER, end_bytes INTEGER,
  reserved_base_bytes INTEGER, reserved_peak_bytes INTEGER, reserved_end_bytes INTEGER,
  unmatched_frees INTEGER, reconciles INTEGER);
CREATE TABLE events(id INTEGER PRIMARY KEY, pool_id INTEGER, number INTEGER, action TEXT,
  address INTEGER, size INTEGER, time_ns INTEGER, stack_id INTEGER, stream INTEGER,
  label_set INTEGER, ledger_id INTEGER, partner INTEGER, live_bytes INTEGER,
  reserved_bytes INTEGER);
CREATE TABLE base_blocks(pool_id INTEGER, address INTEGER, size INTEGER, stack_id INTEGER,
  freed_by INTEGER);
CREATE TABLE marks(id INTEGER PRIMARY KEY, name TEXT, device INTEGER, begin_ns INTEGER,
  end_ns INTEGER);
CREATE TABLE segments(id INTEGER PRIMARY KEY, device INTEGER, address INTEGER, size INTEGER,
  allocated INTEGER, active INTEGER, requested INTEGER, stream INTEGER, stack_id INTEGER,
  small INTEGER, expandable INTEGER, pool_owner INTEGER, pool_id INTEGER, host INTEGER);
CREATE TABLE blocks(id INTEGER PRIMARY KEY, segment_id INTEGER, address INTEGER, size INTEGER,
  requested INTEGER, state TEXT, stack_id INTEGER);
)sql";

// A text is stored once, however many functions, modules and labels have it.
inline constexpr const char* kViews = R"sql(
CREATE VIEW mappings AS
  SELECT id, (SELECT text FROM texts WHERE id = file_id) AS file,
    (SELECT text FROM texts WHERE id = build_id_id) AS build_id
  FROM mapping_rows;
CREATE VIEW functions AS
  SELECT id, (SELECT text FROM texts WHERE id = name_id) AS name,
    (SELECT text FROM texts WHERE id = system_name_id) AS system_name,
    (SELECT text FROM texts WHERE id = file_id) AS file, start_line
  FROM function_rows;
CREATE VIEW labels AS
  SELECT set_id, (SELECT text FROM texts WHERE id = key_id) AS key,
    (SELECT text FROM texts WHERE id = text_id) AS text, number,
    (SELECT text FROM texts WHERE id = unit_id) AS unit
  FROM label_rows ORDER BY label_rows.id;
CREATE VIEW stack_frames AS
  SELECT s.id AS stack_id, s.position AS position, f.id - l.first_frame AS inlined, u.name AS function,
    u.file AS file, f.line AS line, m.file AS module, l.address AS address
  FROM stacks s JOIN locations l ON l.id = s.location_id
    JOIN frames f ON f.id >= l.first_frame AND f.id < l.first_frame + l.frame_count
    LEFT JOIN functions u ON u.id = f.function_id LEFT JOIN mappings m ON m.id = l.mapping_id;
CREATE VIEW stack_text AS
  SELECT stack_id, group_concat(coalesce(function, printf('0x%x', address)), ';') AS text
  FROM (SELECT * FROM stack_frames ORDER BY stack_id, position DESC, inlined DESC) GROUP BY stack_id;
CREATE VIEW label_text AS
  SELECT set_id, group_concat(key || '=' || coalesce(text, number), ' ') AS text
  FROM (SELECT * FROM labels) GROUP BY set_id;
CREATE VIEW sample_rows AS
  SELECT s.id AS id, t.type AS type, t.unit AS unit, v.value AS value, s.unknown_size AS unknown_size,
    s.stack_id AS stack_id, s.label_set AS label_set
  FROM samples s JOIN sample_values v ON v.sample_id = s.id JOIN sample_types t ON t.id = v.type_id;
CREATE VIEW live_at_peak AS
  SELECT p.id AS pool_id, e.number AS event, e.address AS address, e.size AS size,
    e.stack_id AS stack_id, e.label_set AS label_set
  FROM pools p JOIN events e ON e.pool_id = p.id AND e.number <= p.peak_event AND e.action = 'alloc'
  WHERE e.partner IS NULL OR e.partner > p.peak_event
  UNION ALL
  SELECT p.id, NULL, b.address, b.size, b.stack_id, NULL
  FROM pools p JOIN base_blocks b ON b.pool_id = p.id
  WHERE b.freed_by IS NULL OR b.freed_by > p.peak_event;
)sql";

}  // namespace memtool::formats::sqlite
