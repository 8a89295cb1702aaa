import type { TextRange } from './tokens.ts';

/**
 * Numbers that look like a year or a date but are not: telephone numbers, postal codes, accounts, standards, versions,
 * prices and counts. Each is recognized by its context, never by its digits alone, so that a year stays a year.
 */
const PHONES: readonly RegExp[] = [
  // +44 29 2018 0456, (+49) 30 2015-2016, 0044 29 2018 0456
  /(?<![\p{L}\d])(?:\(?\+\s?|00 ?(?=\d))\d{1,3}\)?(?:[\s()./\-–]{0,2}\d){6,13}(?!\d)/gu,
  // Tel: 2018 0456; Mobile no. 029 2018 0456
  /\b(?:tel|telephone|telefon|teléfono|telefono|telefone|téléphone|phone|mobile|mob|cell|handy|móvil|portable|fax|whatsapp)\b\.?(?:\s?(?:no|nr|number)\b\.?)?\s?[:#]?\s?(?!(?:19|20)\d\d\s?[-–/ ]\s?(?:19|20)\d\d(?!\d))\(?\d(?:[\s()./\-–]{0,2}\d){5,14}(?!\d)/giu,
  // 029 2018 0456, (029) 2018-0456, 020 2015 2016: an area code starts with 0 and has three digits or more
  /(?<![\p{L}\d.,])\(?0\d{2,4}\)?[ ./-]\d{2,4}[ ./-]?\d{2,4}(?:[ ./-]\d{2,4})?(?![\d])/gu,
  // 415 555 2019, 415-555-2019, (415) 555-2019
  /(?<![\p{L}\d.,-])(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\d-])/gu,
];

const OTHERS: readonly RegExp[] = [
  // Cards and accounts: DE89 3704 0044 2018 0130 00, 4111 2012 2018 1111
  /(?<![\p{L}\d])[A-Z]{2}\d{2}(?: ?[A-Z\d]{4}){3,7}(?: ?[A-Z\d]{1,3})?(?![\p{L}\d])/gu,
  /(?<!\d)(?!(?:(?:19|20)\d\d[ -]){3}(?:19|20)\d\d(?!\d))(?:\d{4}[ -]){3}\d{4}(?!\d)/gu,
  // 92018-2019, 2000-123, B-2018, CH-2000
  /(?<!\d)\d{5}-\d{4}(?!\d)|(?<![\d/.-])\d{4}-\d{3}(?!\d)|(?<![\p{L}\d])(?:AT|A|BE|B|CH|DK|FL|HU|LU|L|NL|NO|N|SI|BG)-\d{4}(?!\d)/gu,
  // Lange Leemstraat 12, 2018 Antwerpen: after a house number, before a town
  /(?<=\p{L}\.?\s\d{1,4}\p{L}?,?\s{0,2}[,\n]\s{0,3})\d{4}(?=\s(?:[A-Z]{2}\s)?\p{Lu}\p{Ll}{2})/gu,
  // ISO 9001:2015, ISO/IEC 27001-2013, RFC 2018; BS 7799-1999, although BS is also a degree
  /\b(?:ISO|IEC|OHSAS|ANSI|IEEE|ASTM|DIN|NFPA|RFC|CVE|NIST)(?:[\s/-]{1,2}(?:ISO|IEC|EN|TS|TR|SP))*[\s/-]{0,2}\d{1,6}(?:[-:.]\d{1,6}){0,3}(?![\p{L}\d])/gu,
  /\b(?:BS|EN|NF|UNI|UNE|NEN|SAE)\s?(?!(?:19|20)\d\d(?!\d))\d{1,6}(?:[-:.]\d{1,6}){1,3}(?![\p{L}\d])/gu,
  /(?<!\d)\d{3,5}:(?:19|20)\d\d(?!\d)/gu,
  // € 2000, EUR 2019, 2000 EUR, 1999 euros, 2000.00
  /(?:[$€£¥₹]|\b(?:EUR|USD|GBP|CHF|INR|PLN|SEK|NOK|DKK|CAD|AUD|JPY|BRL|Rs\.?))\s?(?:19|20)\d\d(?![\d])|(?<![\d.,-])(?:19|20)\d\d(?:[.,]\d\d)?\s?(?:[$€£¥₹]|(?:EUR|USD|GBP|CHF|INR|PLN|SEK|NOK|DKK|CAD|AUD|JPY|BRL|euros?|dollars?|pounds|francs?|złotych|zł)(?![\p{L}\d]))/gu,
  // 2000 users, 2019 m², over 2000 lines of code
  /(?<![\d.,/–-])(?:19|20)\d\d\+?\s(?:(?:active|new|different|concurrent|square|daily|monthly)\s)?(?:employees|users|customers|clients|people|persons|students|pupils|patients|guests|members|visitors|orders|tickets|calls|products|items|units|pieces|servers|devices|machines|workstations|computers|sites|stores|shops|beds|seats|rooms|hours|hrs|days|metres|meters|km|kg|tons|tonnes|MW|kW|sqm|m2|m²|ft|lines|pages|records|documents|contracts|invoices|transactions|requests|Mitarbeitern?|Kunden|Nutzern?|Patienten|Stunden|employés|salariés|clients|utilisateurs|empleados|clientes|usuarios|dipendenti|clienti|utenti|funcionários|medewerkers|klanten)(?!\p{L})/gu,
  // Employee ID: 2018; Ref. 2019/04; PO Box 2010; room 2012; batch no. 2015
  /\b(?:employee|staff|student|matriculation|registration|licen[cs]e|passport|case|ticket|order|invoice|batch|serial|account|customer|job|requisition|vacancy|pin|personal|matrikel|kunden|auftrags|rechnungs)[ -]?(?:id|no|nr|num|number|nummer|code|pin|ref(?:erence)?)\b\.?\s?[:#]?\s?(?:[A-Z]{0,3}[-/]?)(?:\d{1,6}[-/])?(?:19|20)\d\d(?:[-/]\d{1,6})?(?!\d)|\b(?:ref(?:erence)?|id|po box|p\.o\. box|postfach|room|suite|apt|apartment|flat|zimmer|chambre)\b\.?\s?(?:no\.?\s?)?[:#]?\s?(?:19|20)\d\d(?:[-/]\d{1,6})?(?![\d])/giu,
];

/** Windows Server 2019, Visual Studio 2017, AutoCAD 2018; not "Head Office 2010 - 2014". */
const VERSIONS =
  /\b(?:Windows(?: Server)?|SQL Server|Server|(?:MS |Microsoft )?(?<!(?:head|branch|main|front|back|post|regional|law|dental|medical|our) )Office|Word|Excel|Access|Outlook|PowerPoint|Visio|Visual Studio|Exchange|SharePoint|Dynamics(?: \p{L}+)?|BizTalk|AutoCAD|Revit|SolidWorks|ArcGIS|QuickBooks|ECMAScript|Matlab)[ -]?(?:19|20)\d\d(?:\s?(?:\/|,|&|and)\s?(?:(?:19|20)\d\d|\d\d(?!\d)))*(?!\d|\s?(?:-|–|—|to|until|bis)\s?(?:\d|\p{Lu}|present|heute|now|current))/giu;
const YEAR_OF_VERSION = /(?:19|20)\d\d/g;

/** More than any document contains. */
const MOST = 2000;

/** Numbers that are not dates, in text order and without overlaps. */
export function findOtherNumbers(text: string): TextRange[] {
  return placesOf(text, [...PHONES, ...OTHERS, VERSIONS]);
}

/** Those that are not telephone numbers either. */
export function findCodesAndSums(text: string): TextRange[] {
  return placesOf(text, [...OTHERS, VERSIONS]);
}

/**
 * The years that name a version. The tagger's weights were trained with these as dates, so its tokens treat them as
 * dates.
 */
export function findVersions(text: string): TextRange[] {
  return placesOf(text, [VERSIONS]).flatMap(({ start, end }) =>
    [...text.slice(start, end).matchAll(YEAR_OF_VERSION)].map((match) => ({
      start: start + match.index,
      end: start + match.index + match[0].length,
    })),
  );
}

function placesOf(text: string, patterns: readonly RegExp[]): TextRange[] {
  const found: TextRange[] = [];
  for (const pattern of patterns) {
    for (const match of text.matchAll(pattern)) {
      if (found.length >= MOST) break;
      found.push({ start: match.index, end: match.index + match[0].length });
    }
  }
  const apart: { start: number; end: number }[] = [];
  for (const one of found.sort((left, right) => left.start - right.start)) {
    const last = apart.at(-1);
    if (last !== undefined && one.start < last.end) last.end = Math.max(last.end, one.end);
    else apart.push({ ...one });
  }
  return apart;
}
