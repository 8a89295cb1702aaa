import type { TranslationTarget, Translator } from '../../src/domain/model-calls/translation/translator.ts';

const STAMPS = { newId: () => 'id1', nowSeconds: 1_700_000_000 };

/** What a translator makes of requests. Each has the members of `smallest` and its own. */
export function translationUnderTest(translator: Translator, target: TranslationTarget, smallest: object) {
  const ofText = (text: string, to: Partial<TranslationTarget> = {}) =>
    translator.translateRequest(new TextEncoder().encode(text), { ...target, ...to }, STAMPS);

  function translated(request: object, to?: Partial<TranslationTarget>) {
    const result = ofText(JSON.stringify({ ...smallest, ...request }), to);
    if (result.outcome === 'refused') throw new Error(result.message);
    return result;
  }
  function refused(request: object) {
    const result = ofText(JSON.stringify({ ...smallest, ...request }));
    if (result.outcome !== 'refused') throw new Error('It was translated.');
    return result;
  }
  const sent = (request: object, to?: Partial<TranslationTarget>) =>
    JSON.parse(new TextDecoder().decode(translated(request, to).body));
  return { ofText, translated, sent, refused };
}
