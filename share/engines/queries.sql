-- Three questions to digests, in DuckDB: duckdb -c "SET VARIABLE digests = 'job.jsonl'" -f queries.sql

-- Which inputs hold most, and how much of it does the allocator keep unused?
SELECT path, peak, "end", devices[fullest + 1].reserved_peak - peak AS unused
FROM read_json(getvariable('digests'), format = 'newline_delimited') WHERE peak IS NOT NULL
ORDER BY peak DESC, path LIMIT 10;

-- Which rows hold most at the peak, over all inputs, and how much do inputs differ?
SELECT r.name, r.file, count(*) AS inputs, min(r.peak) AS least, max(r.peak) AS most
FROM (SELECT unnest(rows) AS r FROM read_json(getvariable('digests'), format = 'newline_delimited'))
WHERE r.peak > 0 GROUP BY ALL ORDER BY most DESC, r.name, r.file LIMIT 10;

-- Who ran out of memory, in order of time?
SELECT o.ns, path, o.asked, o.free
FROM (SELECT path, unnest(ooms) AS o FROM read_json(getvariable('digests'), format = 'newline_delimited'))
ORDER BY o.ns NULLS LAST, path;
