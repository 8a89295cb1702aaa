import { createEventReader } from './event-reader.ts';
import type { AnswerTranslation, StreamTranslation, Translator } from './translator.ts';

/** Applies two translators in a row: from the first one's API to that of the second one's target. */
export function composedTranslator(first: Translator, second: Translator): Translator {
  return {
    translateRequest(body, to, stamps) {
      const between = { ...to, hasStreamOptions: true };
      const once = first.translateRequest(body, between, stamps);
      if (once.outcome === 'refused') return once;
      const twice = second.translateRequest(once.body, to, stamps);
      if (twice.outcome === 'refused') return twice;
      return { ...twice, answer: composedAnswer(once.answer, twice.answer) };
    },
  };
}

function composedAnswer(first: AnswerTranslation, second: AnswerTranslation): AnswerTranslation {
  return {
    whole(bytes) {
      const between = second.whole(bytes);
      return between === null ? null : first.whole(between);
    },
    stream: () => composedStream(first.stream(), second.stream()),
  };
}

function composedStream(first: StreamTranslation, second: StreamTranslation): StreamTranslation {
  const encoder = new TextEncoder();
  // The second one emits whole events, so nothing stays in the reader.
  const reader = createEventReader(Number.POSITIVE_INFINITY);

  function translate(text: string): string | 'failed' {
    let translated = '';
    const events = reader.push(encoder.encode(text));
    if (events === 'too-large') return 'failed';
    for (const { name, data } of events) {
      const more = first.event(name, data);
      if (more === 'failed') return 'failed';
      translated += more;
    }
    return translated;
  }

  return {
    event(name, data) {
      const between = second.event(name, data);
      return between === 'failed' || between === '' ? between : translate(between);
    },
    isDone: second.isDone,
    end() {
      const between = second.end();
      if (between === 'cut-off') return 'cut-off';
      const translated = translate(between);
      if (translated === 'failed') return 'cut-off';
      const last = first.end();
      return last === 'cut-off' ? 'cut-off' : translated + last;
    },
  };
}
