-- Whether streams of this key show the usage chunk always, or only where the client asked for it; null keeps to
-- STREAM_USAGE_CHUNK.
alter table api_keys add column stream_usage_chunk text check (stream_usage_chunk in ('ALWAYS', 'ASKED'));
