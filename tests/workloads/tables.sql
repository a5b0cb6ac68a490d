-- Makes tables, joins them, sorts and groups them.
CREATE TABLE number (n INTEGER PRIMARY KEY, square INTEGER, name TEXT);
WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 600000)
INSERT INTO number SELECT n, n * n % 10007, printf('%x-%d', n * 7919 % 65536, n % 97) FROM up;
CREATE INDEX by_name ON number (name);
SELECT count(*), sum(a.n), max(b.name) FROM number a JOIN number b ON a.square = b.n;
SELECT substr(name, 1, 2) AS head, count(*), avg(square) FROM number
    GROUP BY head ORDER BY count(*) DESC, head LIMIT 10;
SELECT count(*) FROM number WHERE name LIKE '%a_-1%' OR name GLOB '*f?-[2-5]*';
SELECT group_concat(name, ' ') FROM (SELECT name FROM number ORDER BY square, n DESC LIMIT 8);
