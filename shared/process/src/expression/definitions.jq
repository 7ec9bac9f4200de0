# Functions of jq that are written in jq. Names with '_' are for the definitions below alone.

def empty: {}[] as $x | .;
def error: error_empty as $x | .;
def error(message): (message | error_empty) as $x | .;
def null: [][0];
def true: 0 == 0;
def false: 0 != 0;
def not: if . then false else true end;
def select(f): if f then . else empty end;
def tostring: "\(.)";

# Types
def type:
    if . == null then "null"
  elif . == true or . == false then "boolean"
  elif . < "" then "number"
  elif . < [] then "string"
  elif . < {} then "array"
  else "object" end;
def isvalid(f): try (f | true) catch false;
def values: select(. != null);
def nulls: select(. == null);
def booleans: select(type == "boolean");
def numbers: select(type == "number");
def strings: select(type == "string");
def arrays: select(type == "array");
def objects: select(type == "object");
def iterables: select(type | . == "array" or . == "object");
def scalars: select(type | . != "array" and . != "object");
def toarray: if type == "array" then . else [.] end;
def toboolean:
    if type == "boolean" then .
  elif . == "true" then true
  elif . == "false" then false
  else error("\(type) (\(.)) cannot be parsed as a boolean") end;

# Numbers
def isnan: type == "number" and . < nan and nan < .;
def isinfinite: . == infinite or . == -infinite;
def isnormal: type == "number" and ((. == 0 or isnan or isinfinite or fabs < 2.2250738585072014e-308) | not);
def isfinite: type == "number" and (isinfinite | not);
def finites: select(isfinite);
def normals: select(isnormal);
def abs: if . < 0 then -. else . end;
def gamma: lgamma;
def lgamma_r: [lgamma, if . < 0 and floor % 2 != 0 then -1 else 1 end];
def nearbyint: rint;
def pow10: exp10;
# As in jq, the last argument is the outermost loop.
def pow(a; b): b as $b | a as $a | _pow($a; $b);
def atan2(a; b): b as $b | a as $a | _atan2($a; $b);
def fmin(a; b): b as $b | a as $a | _fmin($a; $b);
def fmax(a; b): b as $b | a as $a | _fmax($a; $b);
def fmod(a; b): b as $b | a as $a | _fmod($a; $b);
def fdim(a; b): b as $b | a as $a | _fdim($a; $b);
def hypot(a; b): b as $b | a as $a | _hypot($a; $b);
def copysign(a; b): b as $b | a as $a | _copysign($a; $b);
def remainder(a; b): b as $b | a as $a | _remainder($a; $b);
def drem(a; b): remainder(a; b);
def nextafter(a; b): b as $b | a as $a | _nextafter($a; $b);
def nexttoward(a; b): nextafter(a; b);
def ldexp(a; b): b as $b | a as $a | _ldexp($a; $b);
def scalb(a; b): b as $b | a as $a | $a * _pow(2; $b);
def scalbln(a; b): b as $b | a as $a | _scalbln($a; $b);
def jn(a; b): b as $b | a as $a | _jn($a; $b);
def yn(a; b): b as $b | a as $a | _yn($a; $b);
def fma(a; b; c): c as $c | b as $b | a as $a | _fma($a; $b; $c);
def logb: if . == 0 then -infinite elif isinfinite then infinite elif isnan then . else ilogb end;
def significand: if . == 0 or isinfinite or isnan then . else scalbln(.; -(logb)) end;
def have_decnum: true;
def have_literal_numbers: true;

# Generators
def range($from; $to; $by): if $by == 0 then empty else _range($from; $to; $by) end;
def range($from; $to): _range($from; $to; 1);
def range($to): _range(0; $to; 1);
def repeat(f): def again: f, again; again;
def recurse(f): def again: ., (f | again); again;
def recurse: recurse(.[]?);
def recurse(f; condition): def again: ., (f | select(condition) | again); again;
def while(condition; update): def again: if condition then ., (update | again) else empty end; again;
def until(condition; update): def again: if condition then . else update | again end; again;
def limit($count; f):
    if $count > 0 then _limit($count; f)
  elif $count == 0 then empty
  else error("limit doesn't support negative count") end;
def skip($count; f):
    if $count > 0 then _skip($count; f)
  elif $count == 0 then f
  else error("skip doesn't support negative count") end;
def nth($index; f):
  if $index < 0 then error("nth doesn't support negative indices") else first(_skip($index; f)) end;
def isempty(f): first((f | false), true);
def all(f; condition): isempty(first(f | condition | if . then empty else . end));
def any(f; condition): isempty(first(f | condition | if . then . else empty end)) | not;
def all(condition): all(.[]; condition);
def any(condition): any(.[]; condition);
def all: all(.[]; .);
def any: any(.[]; .);
def add(f): reduce f as $x (null; . + $x);
def add: add(.[]);

# Paths
def getpath($path): reduce $path[] as $key (.; .[$key]);
def paths: path(..) | select(length > 0);
def paths(condition): . as $root | paths | select(. as $path | $root | getpath($path) | condition);
def leaf_paths: paths(scalars);
def setpath(path; value): value as $value | path as $path | _setpath($path; $value);
def del(f): delpaths([path(f)]);
def pick(f): . as $root | reduce path(f) as $path (null; setpath($path; $root | getpath($path)));
def to_entries: [keys_unsorted[] as $key | {key: $key, value: .[$key]}];
def _value: if has("value") then .value else .Value end;
def from_entries: reduce .[] as $entry ({}; . + {($entry | .key // .Key // .name // .Name): ($entry | _value)});
def map(f): [.[] | f];
def with_entries(f): to_entries | map(f) | from_entries;
def map_values(f): .[] |= f;
def walk(f): def again: if type == "object" then map_values(again) elif type == "array" then map(again) else . end | f; again;

# Arrays and objects
def keys: keys_unsorted | sort;
def first: .[0];
def last: .[-1];
def nth($index): .[$index];
def min_by(f): reduce min_by_or_empty(f) as $x (null; $x);
def max_by(f): reduce max_by_or_empty(f) as $x (null; $x);
def min: min_by(.);
def max: max_by(.);
def unique_by(f): [group_by(f)[] | .[0]];
def unique: unique_by(.);
def reverse: if . == null then [] else _reverse end;
def join($separator):
  reduce .[] as $item (null;
    (if . == null then "" else . + $separator end)
    + ($item | if . == null then "" elif type == "boolean" or type == "number" then tojson else . end)
  ) // "";
def flatten($depth):
  if $depth < 0 then error("flatten depth must not be negative")
  else
    def again($left): .[] | if type == "array" and $left >= 0 then again($left - 1) else . end;
    [again($depth - 1)]
  end;
def flatten: flatten(1000000000);
def combinations: if length == 0 then [] else .[0][] as $x | (.[1:] | combinations) as $rest | [$x] + $rest end;
def combinations($count): . as $items | [range($count) | $items] | combinations;
def transpose: if . == [] then [] else . as $rows | [range(map(length) | max) as $column | [$rows[][$column]]] end;
def in(values): . as $key | values | has($key);
def inside(values): . as $part | values | contains($part);
def index($part): indices($part) | .[0];
def rindex($part): indices($part) | .[-1];
def INDEX(rows; f): reduce rows as $row ({}; .[$row | f | tostring] |= $row);
def INDEX(f): INDEX(.[]; f);
def JOIN($index; f): [.[] | [., $index[f]]];
def JOIN($index; rows; f): rows | [., $index[f]];
def JOIN($index; rows; f; merge): rows | [., $index[f]] | merge;
def IN(values): any(values == .; .);
def IN(source; values): any(source == values; .);

# Streams
def tostream:
  def again($path):
    if (type | . == "array" or . == "object") and length > 0
    then keys_unsorted as $keys | ($keys[] as $key | .[$key] | again($path + [$key])), [$path + [$keys[-1]]]
    else [$path, .] end;
  again([]);
def fromstream(f):
  {value: null, ends: false} as $none
  | foreach f as $item ($none;
      (if .ends then $none else . end)
      | if $item | length == 2
        then {value: (.value | setpath($item[0]; $item[1])), ends: ($item[0] | length == 0)}
        else {value: .value, ends: ($item[0] | length == 1)} end;
      if .ends then .value else empty end);
def truncate_stream(f): . as $depth | null | f | select(.[0] | length > $depth) | .[0] |= .[$depth:];

# Texts
def ltrimstr($text): if type == "string" and ($text | type) == "string" and startswith($text) then .[$text | length:] else . end;
def rtrimstr($text):
  if type == "string" and ($text | type) == "string" and endswith($text) and $text != "" then .[:-($text | length)] else . end;
def trimstr($text): ltrimstr($text) | rtrimstr($text);
def ascii: if type == "number" then [.] | implode else error("\(type) is not a code point") end;
def _captured: [.captures[] | select(.name != null) | {(.name): .string}] | add // {};
def match($pattern; $flags): _matches($pattern; $flags; false) | .[];
def match($pattern): if $pattern | type == "array" then match($pattern[0]; $pattern[1]) else match($pattern; null) end;
def test($pattern; $flags): _matches($pattern; $flags; false) | length > 0;
def test($pattern): if $pattern | type == "array" then test($pattern[0]; $pattern[1]) else test($pattern; null) end;
def capture($pattern; $flags): match($pattern; $flags) | _captured;
def capture($pattern): match($pattern) | _captured;
def _scanned: if .captures | length > 0 then [.captures[].string] else .string end;
def scan($pattern; $flags): _matches($pattern; $flags; true) | .[] | _scanned;
def scan($pattern): if $pattern | type == "array" then scan($pattern[0]; $pattern[1]) else scan($pattern; null) end;
def split($separator):
  if type == "string" and ($separator | type) == "string" then . / $separator
  else error("split input and separator must be strings") end;
def split($pattern; $flags): [_pieces($pattern; $flags; true) | .[] | strings];
def splits($pattern; $flags): split($pattern; $flags) | .[];
def splits($pattern): splits($pattern; null);

# The first results of the replacements of all matches make the first text, and so on.
def _substituted(replacement):
  . as $pieces
  | reduce range(0; length - 1; 2) as $i ([];
      [$pieces[$i + 1] | _captured | replacement] as $texts
      | reduce range($texts | length) as $k (.; .[$k] += $pieces[$i] + $texts[$k]))
  | .[] + $pieces[-1];
def sub($pattern; replacement; $flags): (_pieces($pattern; $flags; false) | _substituted(replacement)) // .;
def sub($pattern; replacement): sub($pattern; replacement; null);
def gsub($pattern; replacement; $flags): (_pieces($pattern; $flags; true) | _substituted(replacement)) // .;
def gsub($pattern; replacement): gsub($pattern; replacement; null);

# Dates
def todate: strftime("%Y-%m-%dT%H:%M:%SZ");
def todateiso8601: todate;
def fromdate: fromdateiso8601;
def date: todate;
def dateadd($unit; $count): . + $count;
def datesub($unit; $count): . - $count;

# Formats
def format($name): _format($name);
def @text: _format("text");
def @json: _format("json");
def @csv: _format("csv");
def @tsv: _format("tsv");
def @html: _format("html");
def @uri: _format("uri");
def @urid: _format("urid");
def @sh: _format("sh");
def @base64: _format("base64");
def @base64d: _format("base64d");
def @base32: _format("base32");
def @base32d: _format("base32d");
