// Makes the files of this folder from two npm packages. It is run only when a typeface changes:
//
//   cd "$(mktemp -d)" && npm install subset-font@2.9.0 harfbuzzjs@1.6.4 fontverter@2.0.0 \
//     @fontsource-variable/source-sans-3@5.3.1 @fontsource-variable/source-serif-4@5.3.1
//   node "$OLDPWD/static/fonts/cut.mjs" "$OLDPWD/static/fonts"
//
// The same versions give the same bytes, which CHECKSUMS names.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const require = createRequire(join(process.cwd(), 'package.json'))
const subset = require('subset-font')
const { convert } = require('fontverter')

// What each file holds. No character is in two of them; css/typefaces.css names the same ranges.
const ranges = {
  latin:
    'U+0020-007E, U+00A0-00FF, U+0131, U+0152-0153, U+02BB-02BC, U+02C6, U+02DA, U+02DC, ' +
    'U+0300-0301, U+0303-0304, U+0308-0309, U+0323, U+0329, U+2002, U+2009, U+2013-2014, U+2018-201A, U+201C-201E, ' +
    'U+2022, U+2026, U+2032-2033, U+2039-203A, U+2044, U+20AC, U+2122, U+2191, U+2193, U+2212, U+2215',
  // What the languages of Europe need beside it, and the signs of currencies.
  'latin-ext':
    'U+0100-0101, U+0104-010F, U+0112-0127, U+012A-0130, U+0132-0151, U+0154-0167, U+016A-017F, U+018F, U+01B7, ' +
    'U+01E4-01E9, U+01EE-01EF, U+01FA-01FF, U+0218-021B, U+0259, U+0292, U+02C7, U+02DD, U+1E02-1E03, U+1E0A-1E0B, ' +
    'U+1E1E-1E1F, U+1E40-1E41, U+1E56-1E57, U+1E60-1E61, U+1E6A-1E6B, U+1E80-1E85, U+1E9E, U+2020-2021, ' +
    'U+20A0-20AA, U+20AD-20C0',
  vietnamese: 'U+0102-0103, U+0110-0111, U+0128-0129, U+0168-0169, U+01A0-01A1, U+01AF-01B0, U+1EA0-1EF9, U+20AB',
}

// Figures are tabular and lining unless a feature says otherwise, so none of those is kept.
const features = ['kern', 'mark', 'mkmk', 'ccmp', 'locl', 'liga']

const faces = [
  {
    name: 'Martelo Sans',
    from: ['@fontsource-variable/source-sans-3', 'source-sans-3', 'wght'],
    // The pages use two weights, and one file with both is smaller than two.
    axes: { wght: { min: 400, max: 600, default: 400 } },
  },
  {
    name: 'Martelo Serif',
    from: ['@fontsource-variable/source-serif-4', 'source-serif-4', 'opsz'],
    // One weight. The optical size is that of the titles in lists, between a paragraph and the head of a page.
    axes: { wght: 400, opsz: 20 },
  },
]

const out = process.argv[2]
for (const face of faces) {
  for (const [part, range] of Object.entries(ranges)) {
    const [pack, stem, axis] = face.from
    const source = readFileSync(require.resolve(`${pack}/files/${stem}-${part}-${axis}-normal.woff2`))
    const cut = await subset(source, characters(range), {
      targetFormat: 'sfnt', variationAxes: face.axes, keepFeatures: features, noHinting: true,
    })
    const file = `${face.name.toLowerCase().replace(' ', '-')}-${part}.woff2`
    const bytes = await convert(renamed(cut, face.name), 'woff2')
    writeFileSync(join(out, file), bytes)
    console.log(`${createHash('sha256').update(bytes).digest('hex')}  ${file}  (${source.length} → ${bytes.length} bytes)`)
  }
}

function characters(range) {
  return range.split(', ').flatMap(part => {
    const [first, last = first] = part.slice(2).split('-').map(hex => parseInt(hex, 16))
    return Array.from({ length: last - first + 1 }, (_, n) => String.fromCodePoint(first + n))
  }).join('')
}

// The licence reserves the name "Source" for what is unchanged. The copyright stays, and the licence is named.
function renamed(font, family) {
  const tables = tablesOf(font)
  const names = namesOf(tables.get('name'))
  const copyright = names.get(0)
  for (const id of [...names.keys()].filter(id => id < 256)) names.delete(id)
  for (const [id, text] of [
    [0, copyright], [1, family], [2, 'Regular'], [3, `${family}, cut from another typeface`], [4, family],
    [5, 'Version 1.0'], [6, family.replace(' ', '')],
    [13, 'This Font Software is licensed under the SIL Open Font License, Version 1.1.'], [14, 'https://openfontlicense.org'],
  ]) names.set(id, text)
  tables.set('name', nameTable(names))
  return sfnt(font.readUInt32BE(0), tables)
}

function tablesOf(font) {
  const tables = new Map()
  for (let n = 0; n < font.readUInt16BE(4); n++) {
    const at = 12 + 16 * n
    const start = font.readUInt32BE(at + 8)
    tables.set(font.toString('latin1', at, at + 4), Buffer.from(font.subarray(start, start + font.readUInt32BE(at + 12))))
  }
  return tables
}

function utf16(bytes) { return Buffer.from(bytes).swap16() }

function namesOf(table) {
  const names = new Map()
  for (let n = 0; n < table.readUInt16BE(2); n++) {
    const at = 6 + 12 * n
    const start = table.readUInt16BE(4) + table.readUInt16BE(at + 10)
    names.set(table.readUInt16BE(at + 6), utf16(table.subarray(start, start + table.readUInt16BE(at + 8))).toString('utf16le'))
  }
  return names
}

function nameTable(names) {
  const head = Buffer.alloc(6 + 12 * names.size)
  const texts = []
  let length = 0
  head.writeUInt16BE(names.size, 2)
  head.writeUInt16BE(head.length, 4)
  for (const [n, [id, name]] of [...names].sort(([a], [b]) => a - b).entries()) {
    const text = utf16(Buffer.from(name, 'utf16le'))
    // Windows, Unicode, American English.
    for (const [k, value] of [3, 1, 0x409, id, text.length, length].entries()) head.writeUInt16BE(value, 6 + 12 * n + 2 * k)
    texts.push(text)
    length += text.length
  }
  return Buffer.concat([head, ...texts])
}

function checksum(bytes) {
  let sum = 0
  for (let at = 0; at < bytes.length; at += 4) sum = (sum + bytes.readUInt32BE(at)) >>> 0
  return sum
}

function sfnt(kind, tables) {
  const power = Math.floor(Math.log2(tables.size))
  const head = Buffer.alloc(12 + 16 * tables.size)
  head.writeUInt32BE(kind, 0)
  for (const [n, value] of [tables.size, 16 << power, power, 16 * tables.size - (16 << power)].entries()) {
    head.writeUInt16BE(value, 4 + 2 * n)
  }
  tables.get('head').writeUInt32BE(0, 8) // the sum of all is made with this as 0
  const parts = [head]
  let length = head.length
  for (const [n, [tag, table]] of [...tables].sort(([a], [b]) => (a < b ? -1 : 1)).entries()) {
    const padded = Buffer.concat([table, Buffer.alloc(-table.length & 3)])
    head.write(tag, 12 + 16 * n, 'latin1')
    for (const [k, value] of [checksum(padded), length, table.length].entries()) head.writeUInt32BE(value, 16 + 16 * n + 4 * k)
    parts.push(padded)
    length += padded.length
  }
  const whole = Buffer.concat(parts)
  const at = whole.indexOf('head', 12, 'latin1')
  whole.writeUInt32BE((0xb1b0afba - checksum(whole)) >>> 0, whole.readUInt32BE(at + 8) + 8)
  return whole
}
