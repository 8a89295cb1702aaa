-- Scripts, styles and pictures of the console, by every build that started in the last weeks. A page that was loaded
-- before a deploy, or from another backend during one, still gets the files that it names.
create table console_assets (
  name text primary key check (length(name) between 1 and 200),
  content bytea not null check (octet_length(content) <= 4000000),
  last_built_at timestamptz not null
);
