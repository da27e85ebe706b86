-- A store of version 1, as `sqlite3 FILE .dump` tells it. It stays as it is.
BEGIN TRANSACTION;
CREATE TABLE batches (
    id INTEGER PRIMARY KEY,
    night_id INTEGER NOT NULL REFERENCES nights (id),
    subject_id INTEGER NOT NULL REFERENCES subjects (id),
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    version_set_id INTEGER NOT NULL REFERENCES version_sets (id),
    last_at REAL NOT NULL,
    UNIQUE (night_id, subject_id, role, name, kind, version_set_id)
);
INSERT INTO "batches" VALUES(1,1,1,'run','','usual',1,86402.0);
INSERT INTO "batches" VALUES(2,2,1,'run','','usual',1,172801.0);
INSERT INTO "batches" VALUES(3,2,2,'canary','greedy','usual',1,172802.0);
CREATE TABLE failures (
    id INTEGER PRIMARY KEY,
    identifier TEXT NOT NULL UNIQUE,
    workload TEXT NOT NULL,
    recipe TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    blamed TEXT NOT NULL,
    kept_case TEXT,
    shrunk INTEGER NOT NULL,
    first_night TEXT NOT NULL,
    last_night TEXT NOT NULL,
    first_seen REAL NOT NULL,
    last_seen REAL NOT NULL,
    runs INTEGER NOT NULL
);
INSERT INTO "failures" VALUES(1,'03adffee97','lock','fair','{"faults":[],"kind":"double-grant","operations":[]}','recipe','{
  "version": 1,
  "settings": {"workload": "lock", "recipe": "fair"},
  "seed": 7,
  "plan": {"version": 1, "entries": []},
  "expects": {"kind": "double-grant", "operations": [], "faults": []},
  "promised": true,
  "story": []
}
',0,'2026-11-01','2026-11-02',86402.0,172801.0,2);
CREATE TABLE figure_sums (
    batch_id INTEGER NOT NULL REFERENCES batches (id),
    figure TEXT NOT NULL,
    count INTEGER NOT NULL,
    total REAL NOT NULL,
    squares REAL NOT NULL,
    PRIMARY KEY (batch_id, figure)
) WITHOUT ROWID;
INSERT INTO "figure_sums" VALUES(1,'latency',2,1.32175583998231949145e+00,1.00399065921164032388e+00);
CREATE TABLE nights (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    began REAL NOT NULL,
    ended REAL,
    budget REAL NOT NULL,
    seconds REAL NOT NULL,
    seed INTEGER NOT NULL,
    interrupted INTEGER NOT NULL,
    branch TEXT NOT NULL,
    revision TEXT NOT NULL,
    versions TEXT NOT NULL,
    asked TEXT NOT NULL,
    headline TEXT NOT NULL,
    exit_code INTEGER NOT NULL,
    counts TEXT NOT NULL,
    troubles TEXT NOT NULL,
    shard TEXT NOT NULL,
    thinned INTEGER NOT NULL DEFAULT 0
);
INSERT INTO "nights" VALUES(1,'2026-11-01',86400.0,86460.0,0.0,0.0,0,0,'main','','{}','{}','',0,'{}','[]','',0);
INSERT INTO "nights" VALUES(2,'2026-11-02',172800.0,NULL,0.0,0.0,0,0,'','','{}','{}','',0,'{}','[]','',0);
CREATE TABLE outcomes (
    batch_id INTEGER NOT NULL REFERENCES batches (id),
    outcome TEXT NOT NULL,
    runs INTEGER NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (batch_id, outcome)
) WITHOUT ROWID;
INSERT INTO "outcomes" VALUES(1,'valid',1,0.0);
INSERT INTO "outcomes" VALUES(1,'violation',1,0.0);
INSERT INTO "outcomes" VALUES(2,'violation',1,0.0);
INSERT INTO "outcomes" VALUES(3,'violation',1,0.0);
CREATE TABLE run_failures (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    failure_id INTEGER NOT NULL REFERENCES failures (id),
    PRIMARY KEY (run_id, failure_id)
) WITHOUT ROWID;
INSERT INTO "run_failures" VALUES(2,1);
INSERT INTO "run_failures" VALUES(3,1);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    batch_id INTEGER NOT NULL REFERENCES batches (id),
    seed INTEGER NOT NULL,
    outcome TEXT,
    why TEXT NOT NULL,
    exit_code INTEGER NOT NULL,
    at REAL NOT NULL,
    seconds REAL NOT NULL,
    cpu_seconds REAL NOT NULL,
    virtual_seconds REAL NOT NULL,
    operations INTEGER NOT NULL,
    digest TEXT,
    figures TEXT NOT NULL,
    faults TEXT NOT NULL
);
INSERT INTO "runs" VALUES(1,1,1,'valid','',0,86401.0,0.0,0.0,0.0,0,NULL,'{"latency":1.5}','[]');
INSERT INTO "runs" VALUES(2,1,2,'violation','broken',0,86402.0,0.0,0.0,0.0,0,NULL,'{"latency":2.5}','[]');
INSERT INTO "runs" VALUES(3,2,3,'violation','broken',0,172801.0,0.0,0.0,0.0,0,NULL,'{}','[]');
INSERT INTO "runs" VALUES(4,3,4,'violation','',0,172802.0,0.0,0.0,0.0,0,NULL,'{}','[]');
CREATE TABLE sightings (
    failure_id INTEGER NOT NULL REFERENCES failures (id),
    batch_id INTEGER NOT NULL REFERENCES batches (id),
    runs INTEGER NOT NULL,
    PRIMARY KEY (failure_id, batch_id)
) WITHOUT ROWID;
INSERT INTO "sightings" VALUES(1,1,1);
INSERT INTO "sightings" VALUES(1,2,1);
CREATE TABLE sources (
    night_id INTEGER NOT NULL REFERENCES nights (id),
    subject_id INTEGER NOT NULL REFERENCES subjects (id),
    source TEXT NOT NULL,
    PRIMARY KEY (night_id, subject_id)
) WITHOUT ROWID;
INSERT INTO "sources" VALUES(1,1,'s1');
CREATE TABLE subjects (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    thing TEXT NOT NULL
);
INSERT INTO "subjects" VALUES(1,'lock / fair, sim','lock / fair');
INSERT INTO "subjects" VALUES(2,'lock / greedy, sim','lock / greedy');
CREATE TABLE version_sets (
    id INTEGER PRIMARY KEY,
    versions TEXT NOT NULL UNIQUE
);
INSERT INTO "version_sets" VALUES(1,'{"kazoo":"2.11.0"}');
CREATE INDEX batches_by_subject ON batches (subject_id, role);
CREATE INDEX batches_by_versions ON batches (version_set_id);
CREATE INDEX sightings_by_batch ON sightings (batch_id);
CREATE INDEX runs_by_batch ON runs (batch_id);
CREATE INDEX run_failures_by_failure ON run_failures (failure_id);
COMMIT;
PRAGMA application_id = 1381322064;
PRAGMA user_version = 1;
