"""Whether an answer is in English, told by function words. The text rules read no other language.

Small and honest: it knows the commonest words of the languages below and says ``False`` where theirs outnumber the
English ones. Text without any known word counts as English when it is written in ASCII letters.
"""

import re
from collections.abc import Mapping
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD: Final = re.compile(r"[^\W\d_]+(?:['\N{RIGHT SINGLE QUOTATION MARK}][^\W\d_]+)?")
_MOST_WORDS: Final = 400
"""How many words decide: more would tell nothing new."""

ENGLISH: Final = _words(
    """a the and of to is are was were be been has have had i i've i'm you your it its it's this that these for from
    with without by at on in as an or not no yes if then there here which who what when where how can could will would
    should may must do does did done all any some more most other into than so we our us they their he she his her my me
    please let know need now next found file files task test tests following details based after before about also only
    successfully updated created sent added completed complete fixed ok okay one two
    up out new per come die men ten den son table day note set get got see use used those"""
)
"""Commonest words of English, and the commonest of final answers."""

OTHERS: Final[Mapping[str, frozenset[str]]] = {
    "de": _words(
        """der die das und ist nicht ein eine einen ich sie wir es mit für auf von zu zum zur dem den des wurde wurden
        haben habe hat sind auch aber oder wie bei nach aus über ihre ihr erfolgreich erledigt fertig datei
        kann bitte"""
    ),
    "fr": _words(
        """les des et est pas une un je vous nous il elle dans pour avec sur par qui que ce cette ces été sont votre vos
        mais ou où au aux du j'ai c'est n'ai l'a d'un d'une terminé fait fichier veuillez avez ont"""
    ),
    "es": _words(
        """los las y es no una un yo usted nosotros en para con por que se su sus ha han he fue pero como más está están
        del al lo este esta listo hecho correo archivo puedo puede ya sin muy tarea reserva"""
    ),
    "pt": _words(
        """os as e é não uma um eu você nós em para com por que se seu sua foi foram mas como mais está estão do da dos
        das no na ao já pronto feito concluído arquivo posso pode tarefa"""
    ),
    "it": _words(
        """il lo gli le e è non una un io lei noi in per con su che si suo sua ho hai ha hanno stato stata sono ma come
        più del della dei nel nella al fatto completato prenotazione posso può attività"""
    ),
    "nl": _words(
        """het een en is niet ik u je wij we op voor met van te zijn heb heeft hebben werd maar ook als bij naar uit
        door        aan dat dit deze die er kan klaar gedaan bestand succesvol uw wordt"""
    ),
    "sv": _words(
        """och att det är inte en ett jag du vi på för med av till har hade som men om kan den från nu klart klar
        filen uppdaterat skickat eller ska blev"""
    ),
    "da_no": _words(
        """og at det er ikke en et jeg du vi på for med af av til har hadde som men om kan den fra nå nu ferdig
        færdig filen oppdatert opdateret sendt eller skal blev ble"""
    ),
    "pl": _words(
        """i w na nie jest są się z do to że jak ale lub oraz dla od po przez za został została zostało zostały już
        ten ta te mam pan pani gotowe zrobione plik może proszę udało"""
    ),
    "cs": _words(
        """a v na není je jsou se s do to že jak ale nebo pro od po za byl byla bylo byly už ten ta hotovo soubor může
        prosím jsem jsme úspěšně"""
    ),
    "ro": _words(
        """și în nu este sunt o un una pe cu din pentru că dar sau am ați fost mai acest această gata fișierul
        poate vă rog cum"""
    ),
    "hu": _words("""a az és nem egy hogy van volt meg vagy is kész sikeresen fájl kérem önnek el ki ha már lett"""),
    "fi": _words("""ja on ei se että oli ovat olen hän minä sinä mutta tai kun niin myös valmis tehty tiedosto nyt"""),
    "tr": _words(
        """ve bir bu için ile değil olarak olan da var yok ben siz biz ama veya gibi daha çok ne tamam
        dosya edildi oldu lütfen gönderildi güncellendi randevu"""
    ),
    "vi": _words(
        """và là của không một tôi bạn chúng được đã cho với trong các những này đó có thể để người khi từ đến xong rồi
        hoàn thành tệp công việc vui lòng ạ"""
    ),
    "id": _words(
        """dan yang di ke dari untuk dengan tidak ini itu adalah saya anda kami telah sudah akan pada atau juga bisa
        dapat berhasil selesai berkas tugas silakan oleh karena"""
    ),
    "tl": _words(
        """ang ng mga sa na ay hindi ako ikaw siya kami natin ito iyon para kung at po ko mo niya nang lang tapos nagawa
        natapos maaari"""
    ),
}
"""Function words by language, with the words by which a task is said to be done."""

_FOREIGN: Final = {name: words - ENGLISH for name, words in OTHERS.items()}
_DONE: Final = _words(
    """fertig erledigt terminé listo hecho pronto feito concluído fatto completato klaar gedaan klar klart ferdig færdig
    gotowe zrobione hotovo gata kész valmis tehty tamam xong selesai berhasil tapos nagawa natapos"""
)
"""Words that are a whole answer: elsewhere one word may be a name, such as Las Vegas."""


def is_english(text: str) -> bool:
    """Return whether the text rules may read this text; numbers and bare symbols are of every language."""
    letters = [char for char in text[:20_000] if char.isalpha()]
    if letters and sum(_latin(char) for char in letters) < 0.7 * len(letters):
        return False
    words = [match.group().lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") for match in _some(text)]
    english = sum(word in ENGLISH for word in words)
    for known in _FOREIGN.values():
        found = [word for word in words if word in known]
        if len(found) > english and (len(set(found)) > 1 or not _DONE.isdisjoint(found)):
            return False
    strange = sum(not word.isascii() for word in words)
    return english > 0 or 3 * strange <= len(words)


def _some(text: str) -> list[re.Match[str]]:
    found = []
    for match in _WORD.finditer(text):
        found.append(match)
        if len(found) == _MOST_WORDS:
            break
    return found


def _latin(char: str) -> bool:
    """True for letters of the Latin script, those with marks included."""
    return ord(char) < 0x0250 or 0x1E00 <= ord(char) <= 0x1EFF
