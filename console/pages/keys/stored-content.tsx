import { useState } from 'react';
import { Link } from 'wouter';
import { Confirmed } from '../../parts/dialog.tsx';
import { Checks, Field } from '../../parts/form.tsx';
import type { FormValues } from '../../parts/form-values.ts';
import { Card, Notice } from '../../parts/page.tsx';
import { count, counted } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { graphql } from '../../session/graphql.ts';

const CLEAR = graphql('mutation { clearCache }');

interface StoredContent {
  readonly cacheTtlSeconds: number | null;
  readonly logPayloads: boolean;
}

const NOTHING: StoredContent = { cacheTtlSeconds: null, logPayloads: false };
/** Thirty days. */
const LONGEST_TTL = 2_592_000;

/** Which content of a key's calls is stored. */
export function StoredContentFields({ value = NOTHING }: { value?: StoredContent }) {
  return (
    <>
      <Field
        label="Cache answers for (seconds)"
        {...{ name: 'cacheTtl', type: 'number', min: 1, max: LONGEST_TTL, step: 1 }}
        hint="Equal requests get the stored answer. Empty: only calls that ask for it."
        defaultValue={value.cacheTtlSeconds ?? ''}
      />
      <Checks
        legend="Prompts and answers"
        name="stores"
        values={[STORE]}
        chosen={value.logPayloads ? [STORE] : []}
      />
      <p className="small quiet">
        Redacted, and shown to company admins. The operator can also have them in its traces.
      </p>
    </>
  );
}

const STORE = 'Store prompts and answers of its calls';

export function storedContentIn({ number, all }: Pick<FormValues, 'number' | 'all'>): StoredContent {
  return { cacheTtlSeconds: number('cacheTtl'), logPayloads: all('stores').length > 0 };
}

export function StoredContentNote({ cacheTtlSeconds, logPayloads }: StoredContent) {
  return (
    <>
      {cacheTtlSeconds !== null && (
        <div className="small quiet">answers cached for {count(cacheTtlSeconds)} s</div>
      )}
      {logPayloads && (
        <div className="small">
          <Link href="/payloads">prompts and answers are stored</Link>
        </div>
      )}
    </>
  );
}

/** Removes the cached answers of all keys. */
export function CacheCard() {
  const { session } = useConsole();
  const [removed, setRemoved] = useState<number | null>(null);
  return (
    <Card title="Answer cache">
      <p>
        Calls of keys that cache answers, and calls with the header <code>x-turnpike-cache: ttl=600</code>,
        get the answer of an earlier equal request. Answers are stored encrypted and never shared with another
        company.
      </p>
      {removed !== null && (
        <Notice mood="good">{counted(removed, 'cached answer was', 'cached answers were')} removed.</Notice>
      )}
      <div>
        <Confirmed
          name="Clear cache"
          title="Clear the cache?"
          says="All cached answers of your company are removed. The next equal requests go to the provider and are charged."
          work={async () => setRemoved((await session.request(CLEAR, {})).clearCache)}
        />
      </div>
    </Card>
  );
}
