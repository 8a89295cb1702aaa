import { Choice, Field, Form } from '../parts/form.tsx';
import { Card, Page } from '../parts/page.tsx';
import { useFilters } from './filters.tsx';
import { LiveLines } from './live-lines.tsx';
import { LEVEL_MOODS, type LinesFilter, LogLines } from './log-lines.tsx';

const SERVICES = [
  ['', 'All'],
  ['gateway', 'Gateway'],
  ['backend', 'Backend'],
  ['ai-service', 'AI service'],
  ['shared', 'Shared'],
] as const;
type Level = keyof typeof LEVEL_MOODS;
const LEVELS = Object.keys(LEVEL_MOODS) as Level[];
const LONGEST_TEXT = 200;

/** The log of all processes, either stored lines or lines as they are logged. The filters are in the URL. */
export function Logs() {
  const { filter, setFilters } = useFilters();
  const isStored = filter('show') === 'stored';
  const level = LEVELS.find((one) => one === filter('level')) ?? 'INFO';
  const common = {
    minLevel: level,
    ...given('service', filter('service')),
    ...given('requestId', filter('request')),
    ...given('companyId', filter('company')),
    ...given('contains', filter('text')),
  };
  return (
    <Page
      title="Logs"
      says="The log of all processes. Secrets are removed before a line is written."
      actions={
        <fieldset className="row" aria-label="Which lines">
          {(['live', 'stored'] as const).map((show) => (
            <button
              key={show}
              type="button"
              aria-pressed={isStored === (show === 'stored')}
              onClick={() => setFilters({ show: show === 'stored' ? show : '' })}
            >
              {show === 'live' ? 'Live' : 'Stored'}
            </button>
          ))}
        </fieldset>
      }
    >
      <Card>
        <Filters filter={filter} level={level} isStored={isStored} apply={setFilters} />
      </Card>
      {isStored ? (
        <Card>
          <LogLines filter={{ ...common, ...spanOf(filter('from'), filter('to')) }} />
        </Card>
      ) : (
        <LiveLines filter={common} />
      )}
    </Page>
  );
}

interface FiltersProps {
  readonly level: Level;
  readonly isStored: boolean;
  filter(name: string): string;
  apply(values: Readonly<Record<string, string>>): void;
}

function Filters({ filter, level, isStored, apply }: FiltersProps) {
  const named = { maxLength: LONGEST_TEXT, spellCheck: false, autoComplete: 'off' };
  // Recreated when the URL changes, for example with the browser's back button.
  const key = ['service', 'level', 'request', 'company', 'text', 'from', 'to'].map(filter).join('|');
  return (
    <Form
      key={key}
      submit="Apply"
      send={async ({ text }) =>
        apply({
          ...{ service: text('service'), level: text('level'), request: text('request') },
          ...{ company: text('company'), text: text('text') },
          ...(isStored ? { from: text('from'), to: text('to') } : {}),
        })
      }
    >
      <div className="columns">
        <Choice label="Service" name="service" defaultValue={filter('service')}>
          {SERVICES.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </Choice>
        <Choice label="Lowest level" name="level" defaultValue={level}>
          {LEVELS.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </Choice>
        <Field label="Request id" name="request" defaultValue={filter('request')} {...named} />
        <Field label="Company id" name="company" defaultValue={filter('company')} {...named} />
        <Field label="Contains" name="text" type="search" defaultValue={filter('text')} {...named} />
        {isStored && <Field label="From" name="from" type="datetime-local" defaultValue={filter('from')} />}
        {isStored && <Field label="Until" name="to" type="datetime-local" defaultValue={filter('to')} />}
      </div>
    </Form>
  );
}

function given<Name extends string>(name: Name, value: string): Partial<Record<Name, string>> {
  return value === '' ? {} : ({ [name]: value } as Partial<Record<Name, string>>);
}

/** In the browser's time zone, like the fields. Text that is not a time is ignored. */
function spanOf(from: string, to: string): Pick<LinesFilter, 'from' | 'to'> {
  const iso = (text: string) => {
    const ms = Date.parse(text);
    return Number.isNaN(ms) ? '' : new Date(ms).toISOString();
  };
  return { ...given('from', iso(from)), ...given('to', iso(to)) };
}
