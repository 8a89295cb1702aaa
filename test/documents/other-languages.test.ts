import { describe, expect, test } from 'bun:test';
import { engine, profileOf, TODAY, unproven } from './recorded-documents.ts';

const CZECH = `Jana Horáková
Praha 4 · 603 112 908 · jana.horakova@email.example

Praxe
Vedoucí prodejny, Lipka a.s., Brno
leden 2019 – dosud
Řízení prodejny a objednávek pro celý kraj.

Prodavačka, Dům obuvi s.r.o., Brno
září 2014 – prosinec 2018
Prodej a péče o zákazníky, práce s pokladnou.

Vzdělání
Obchodní akademie Brno
maturita, 2010 – 2014

Jazyky
čeština (rodilý mluvčí), angličtina (B2), ruština (základy)
`;

const TURKISH = `ÖZGEÇMİŞ

KİŞİSEL BİLGİLER
Adı Soyadı: İPEK YILMAZ
Telefon: 0532 456 78 90
E-posta: ipek@example.com

İŞ DENEYİMİ
Mart 2019 – Halen\tÜretim Müdürü
\tDeniz Makine A.Ş., Bursa
Ağustos 2013 – Şubat 2019\tÜretim Mühendisi
\tYayla Tekstil Ltd. Şti., Bursa

EĞİTİM BİLGİLERİ
2007 – 2012\tYıldız Teknik Üniversitesi, Makine Mühendisliği Lisans

YABANCI DİL
İngilizce – ileri düzey
Almanca – başlangıç
`;

describe('G-7 CVs in languages that the taggers know little of', () => {
  test('A-12 the language is named, and is not that of a language that shares its small words', () => {
    const languageOf = (text: string) => engine.parseCv(text, TODAY).document.language;
    expect(languageOf(CZECH)).toBe('cs');
    expect(languageOf(TURKISH)).toBe('tr');
    const swedish = `Erik Ek
erik.ek@example.com, 070-123 45 67

Anställningar
2015 – nuvarande: Systemutvecklare, Björk IT. Utvecklar system i C++ och testar CAN.

Utbildning
2007 – 2012 Civilingenjör, Tekniska högskolan

Språk
Svenska (modersmål), engelska`;
    expect(languageOf(swedish)).toBe('sv');
  });

  test('positions need no English word', () => {
    const { work, total_months_experience } = profileOf(TURKISH);
    expect(work.map(({ position }) => position)).toEqual(['Üretim Müdürü', 'Üretim Mühendisi']);
    expect(work.map(({ startDate, endDate }) => [startDate, endDate])).toEqual([
      ['2019-03', null],
      ['2013-08', '2019-02'],
    ]);
    expect(total_months_experience).toBe((2024 - 2013) * 12 + 6 - 8 + 1);
  });

  test('spoken languages have their levels', () => {
    expect(profileOf(CZECH).languages).toEqual([
      { language: 'čeština', fluency: 'rodilý mluvčí' },
      { language: 'angličtina', fluency: 'B2' },
      { language: 'ruština', fluency: 'základy' },
    ]);
    expect(profileOf(TURKISH).languages).toEqual([
      { language: 'İngilizce', fluency: 'ileri düzey' },
      { language: 'Almanca', fluency: 'başlangıç' },
    ]);
  });

  test('a level under the heading for languages counts before one of the summary, and names are no languages', () => {
    const { languages } = profileOf(`Ewa Lind
ewa.lind@example.com

SUMMARY
Analyst at Dansk Byg with good results, fluent in Polish and English.

EXPERIENCE
Analyst, Magyar Telekom, excellent reviews
Jan 2015 – Present

LANGUAGES
Polish (native), English (C1)`);
    expect(languages).toEqual([
      { language: 'Polish', fluency: 'native' },
      { language: 'English', fluency: 'C1' },
    ]);
  });
});

test('G-7 what is behind "presso", "chez" or "bei" is the employer, and the words are no part of it or of the position', () => {
  const jobs = (heading: string, ...lines: string[]) => {
    const text = `Francesca De Santis\nf.desantis@posta.example\n\n${heading}\n${lines.join('\n')}\n`;
    return profileOf(text).work.map(({ position, name }) => [position, name]);
  };
  expect(
    jobs(
      'Esperienza lavorativa',
      'Da gennaio 2017 a oggi',
      'Impiegata amministrativa presso Officine Bertoli S.r.l., Bologna',
      '',
      'Da marzo 2011 a dicembre 2016',
      'Segretaria presso Studio Commercialista Galli e Associati, Bologna',
      'Centralino, agenda, archivio',
    ),
  ).toEqual([
    ['Impiegata amministrativa', 'Officine Bertoli S.r.l'],
    ['Segretaria', 'Studio Commercialista Galli e Associati'],
  ]);
});

test('G-7 accents that stand behind their letters make the same record, with places in the text as it was handed in', () => {
  for (const text of [CZECH, TURKISH]) {
    const apart = text.normalize('NFD');
    expect(apart).not.toBe(text);
    const [whole, parted] = [engine.parseCv(text, TODAY), engine.parseCv(apart, TODAY)];
    expect(parted.profile).toEqual(whole.profile);
    expect(parted.document).toEqual(whole.document);
    const places = parted.evidence.map(({ path, start, end }) => [
      path,
      apart.slice(start, end).normalize('NFC'),
    ]);
    expect(places).toEqual(whole.evidence.map(({ path, start, end }) => [path, text.slice(start, end)]));
    expect(unproven(text, whole.profile, whole)).toEqual([]);
  }
});
