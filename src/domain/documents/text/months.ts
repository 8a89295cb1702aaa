/** The beginnings that tell a month in seven languages; the shortest form is three letters. */
const MONTH_NAMES: readonly string[] = [
  'jan januar january janvier janv enero ene gennaio gen janeiro januari jän jänner',
  'feb februar february février févr fevrier febrero febbraio fevereiro fev februari',
  'mar march märz mars marzo março maart mrz mär maerz mrt',
  'apr april avril avr abril abr aprile',
  'may mai mayo maggio mag maio mei',
  'jun june juni juin junio giugno giu junho',
  'jul july juli juillet juil julio luglio lug julho',
  'aug august août aout agosto ago augustus',
  'sep sept september septembre septiembre settembre set setembro',
  'oct october oktober okt octobre octubre ottobre ott outubro out',
  'nov november novembre noviembre novembro',
  'dec december dezember dez décembre decembre diciembre dic dicembre dezembro',
];

const MONTHS = new Map(
  MONTH_NAMES.flatMap((names, at) => names.split(' ').map((name): [string, number] => [name, at + 1])),
);

/** Words that are months only with a year beside them are told apart by whoever asks. */
export function monthOf(word: string): number | null {
  return MONTHS.get(word.toLowerCase().replace(/\.$/, '')) ?? null;
}

/** The month in which a season's work or term begins. */
export const SEASON_MONTHS: Readonly<Record<string, number>> = {
  spring: 3,
  summer: 6,
  summers: 6,
  fall: 9,
  autumn: 9,
  winter: 12,
  frühling: 3,
  sommer: 6,
  herbst: 9,
  printemps: 3,
  été: 6,
  automne: 9,
  hiver: 12,
  primavera: 3,
  verano: 6,
  otoño: 9,
  invierno: 12,
  estate: 6,
  autunno: 9,
  inverno: 12,
};

export const PRESENT_WORDS =
  "present|presently|current|currently|now|today|date|till date|to date|till now|till present|until now|ongoing|on-going|heute|aktuell|jetzt|laufend|aujourd['’]hui|présent|actuel|ce jour|actualidad|actual|presente|actualmente|oggi|in corso|attuale|attualmente|atual|atualmente|hoje|heden|nu|huidig";
