/* The tables of a history, as they are made. HISTORY_SCHEMA is the database's user_version; a
 * change of the tables is a new number, and a step in history_open.c that brings older ones there.
 * spanscope(1) describes them, for those who read the file with other programs. */
#ifndef STORE_HISTORY_SCHEMA_H
#define STORE_HISTORY_SCHEMA_H

#define HISTORY_SCHEMA 1
#define HISTORY_APPLICATION 1397773171 /* "SPSs": what file(1) and we know it by */

#define HISTORY_TABLES                                                                                                                                                                    \
	/* One row a snapshot: struct facts_head, with the sums of the whole process. */                                                                                                  \
	"CREATE TABLE snapshot("                                                                                                                                                          \
	" id INTEGER PRIMARY KEY,"                                                                                                                                                        \
	" path TEXT NOT NULL, file_bytes INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,"                                                                                                    \
	" inode INTEGER NOT NULL, time_ns INTEGER NOT NULL, time_from TEXT NOT NULL,"                                                                                                     \
	" go TEXT, arch TEXT, build TEXT, exe TEXT, process TEXT, evidence TEXT, partial TEXT,"                                                                                           \
	" virtual INTEGER, resident INTEGER, count INTEGER,"                                                                                                                              \
	" UNIQUE(path, file_bytes, mtime_ns, inode));" /* Names of rows, each once. */                                                                                                    \
	"CREATE TABLE name("                                                                                                                                                              \
	" id INTEGER PRIMARY KEY, level TEXT NOT NULL, key TEXT NOT NULL, UNIQUE(level, key));" /* Which levels could be read in a snapshot, and how many rows were summed as (other). */ \
	"CREATE TABLE level("                                                                                                                                                             \
	" snapshot INTEGER NOT NULL REFERENCES snapshot ON DELETE CASCADE,"                                                                                                               \
	" level TEXT NOT NULL, cut INTEGER NOT NULL,"                                                                                                                                     \
	" PRIMARY KEY(snapshot, level)) WITHOUT ROWID;" /* The rows. */                                                                                                                   \
	"CREATE TABLE fact("                                                                                                                                                              \
	" snapshot INTEGER NOT NULL REFERENCES snapshot ON DELETE CASCADE,"                                                                                                               \
	" name INTEGER NOT NULL REFERENCES name,"                                                                                                                                         \
	" virtual INTEGER, resident INTEGER, count INTEGER,"                                                                                                                              \
	" PRIMARY KEY(snapshot, name)) WITHOUT ROWID;"                                                                                                                                    \
	"CREATE INDEX fact_by_name ON fact(name, snapshot);" /* Files that could not be analysed.                                                                                         \
							      */                                                                                                                          \
	"CREATE TABLE failure("                                                                                                                                                           \
	" path TEXT PRIMARY KEY, status INTEGER NOT NULL, message TEXT NOT NULL)"                                                                                                         \
	" WITHOUT ROWID;" /* What check compares with, by program: a document                                                                                                             \
			   * (spanscope/snapshot/1), which stays when its snapshot is removed. */                                                                                         \
	"CREATE TABLE baseline(program TEXT PRIMARY KEY, document TEXT NOT NULL)"                                                                                                         \
	" WITHOUT ROWID;" /* The facts with their names. */                                                                                                                               \
	"CREATE VIEW facts AS SELECT s.path, s.time_ns, n.level, n.key, f.virtual, f.resident,"                                                                                           \
	" f.count FROM fact f JOIN snapshot s ON s.id = f.snapshot JOIN name n ON n.id = f.name;"

#endif
