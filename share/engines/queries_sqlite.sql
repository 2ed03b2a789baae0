-- The questions of queries.sql to digests in SQLite, which has them as lines of text:
-- sqlite3 -cmd '.mode ascii' -cmd '.separator "\037" "\n"' -cmd 'CREATE TABLE digests(line)' \
--         -cmd '.import job.jsonl digests' -cmd '.mode column' :memory: < queries_sqlite.sql

-- Which inputs hold most, and how much of it does the allocator keep unused?
SELECT line ->> 'path' AS path, line ->> 'peak' AS peak, line ->> 'end' AS "end",
       json_extract(line, '$.devices[' || (line ->> 'fullest') || '].reserved_peak') - (line ->> 'peak') AS unused
FROM digests WHERE line ->> 'peak' IS NOT NULL
ORDER BY peak DESC, path LIMIT 10;

-- Which rows hold most at the peak, over all inputs, and how much do inputs differ?
SELECT r.value ->> 'name' AS name, r.value ->> 'file' AS file, count(*) AS inputs,
       min(r.value ->> 'peak') AS least, max(r.value ->> 'peak') AS most
FROM digests, json_each(line, '$.rows') AS r WHERE r.value ->> 'peak' > 0
GROUP BY 1, 2 ORDER BY most DESC, 1, 2 LIMIT 10;

-- Who ran out of memory, in order of time?
SELECT o.value ->> 'ns' AS ns, line ->> 'path' AS path, o.value ->> 'asked' AS asked, o.value ->> 'free' AS free
FROM digests, json_each(line, '$.ooms') AS o
ORDER BY ns NULLS LAST, 2;
