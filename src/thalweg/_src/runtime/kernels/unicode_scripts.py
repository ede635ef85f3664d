"""Unicode script property of every character (Unicode 13), with the codes of ICU and TensorFlow."""

from __future__ import annotations

import base64
import zlib
from functools import cache

import numpy as np

# Consecutive runs of characters of one script from 0: the length of each, seven bits per byte, then its code.
_RUNS = (
    "c-noIU5r)L70375d!O%n&z*B;=FZ%EXXf7dU}hK?W`@rh2IQ-v1~Q;n5G97B;=e^JSkQ<>ouD$3f}#z6kc#qA1lts?6$)CUO&cGYCVgm4n>0T3"
    "wMpYc)ApfF`ag#YZA{aL-&t#a@4fa~YoArBQg+FRl5&AKs;w-lMt)|>1Il5Ac3RYKv9Tx<Yot<Q3&~_!C#jAWvLcSXrucdBwVW4U&~G&66JrER"
    "ntfE8E!^e^juz#Tn26?h$~p;kBo!_4F!dfC_Xw8taCFb8o<A$b<QD2%<~^-Zcv{eLw}#v;h<X;Gm2(tzgaXHP>N`U#g;1+XXsy7v8k&@-dqk{("
    "WjScnTkEsVQWrQZmx*Z-xJ|5U;yCIa(Kq3`luo1FG#QpXSk|R7X$oNqf`Fv5L_DI2Q_u(-^@h3>3b2&9f|vC%HSV{@eUTD%k7(ks95m`p%_H_^"
    "eX$lo_j13z28Pm7rez^I)6;r`T(5<5vk%wqbxDlYUI+O;u1(rVQ=fs~DBC^{I@2BM+&jxbU%r(!q>Y5cY31%3b+(lwh-A9X+I4Fl`3l>~f`)V}"
    "7EKk6N?Pvb?R6WpQwBu3H9VH3o8FR@X_amlA?r<d4omy#eX65>7IZsXi9^~OdRx2B%Bk*B4~cEB<MshT-+;wHCItoJ4OpcIX5nq==+ALT&LJ9e"
    "a-wW*S{Lt#c#4R-p_GO`yCJ*(M_Yk%qM@%L^~j(Sx!CM#xMbQH?CdmHS2rrEd&m!Q3quiF=V%q6Wo{1nVVZ;J;T-O7<L2Ak3|-Yqs-l7_O<r}e"
    "wd!F`)xp}q5VcW3Zq#PTC@*@nYavarFv8qPi^`;nXp(L)S#RrDLKj-HVyB>Ur$)4sbCZ~QA}g@|7K`Cq3|2n6aD@-MV*D<H0x@@uelzg79xY>X"
    "{-ZvOh{_XBtP*jFQH)yUpug<I;*arbNxm%p+Oot;g;ylgx?E!Za7lkd`i<OigBt4=Q5Hy?^$|2vra2}cIWDtBG3J@5boOP+LcVNJS54@a0{WSg"
    "xEZE2DOX9NW|xh!c+F8|4rs;Oo|@M4{>ppj7{NEx$haV-Uf%0D@Vx(agz;tc=4CNtSz8ojH~s&p`<v7-Dv4lglEY_`RJdUVosxuUE-9-Zv7(E<"
    "vI*^m%`LnQ(aN-ly0=7Gaxljc++So6s=Cvsa%d{mSX!xS#XHqVNz^^1bE2*-NLH$UotDJlNHE)A$?O25&;CGvtp(ftdk*;MQ4jLai)f;tJcOt`"
    "ywo66F2?Wmv38e_+%6aOaNY*)YD3>65#*81qQTS@53a%~rk1H%2NU+{0P$-2AhE0K9c!Lxhx1I^o)9iw`#S$I${fBJ0q@$DHP5`!owtW0_qaH-"
    "rI<ro(PFIl+-m$qCmK7Get6{^9OIzUOxGYnbc3+@TROp?wbs1Um0Dx59z;ypB<U$)(S9%O*Gz0`Unc(<VKa}zJH7s#MJlAZhH2IskLDKjO$^H("
    "dwMG5)iC#t2`Z$SXi^x{h{t-cf6PJZIm5~zP#frdd1?}mutwwnW9T7+v9A{(Qf0Tkt^lU1n&%yEb<nklM_Sak+#+5+gpI-Ig0A_r$9xxk-?tfq"
    "FZfva7H$95QNbm>DL`pc2!GS-%vvKn%ZOku(IZ?lE0^{%2KLsE)?V@vyfljDQ*1ruz&X`%AN$-_d6+)?@JiG-w;!=+IifM|h@D`c2?su<A)OOE"
    "|Aa+2!8}gt&(~k9V_+YX$G!lIAERX+D?P=ye5(0Lj(W1VpYPiK9K8J-amPJNuwZ?jcyQMbUi1-OJgZTo^@px;`fK#&Yf~8fiI1U6o6+&p7PMUs"
    "Fty5}YZa}uYV{L5?Gt=pU-uBc?qbp7O#6@f7<fCt_Sg6W(H)`qCXfB*DtKpTKVnINL}y$~zU&};*@ZpC=im@mBPHq{(ZnGlL8HYGIm9RK5QCb!"
    "cgV2Ew*}kYW!HDRaQg|K;KW(MVxFS^Y!7Zd9U(mJB42IB#2eh>8;emr$)tXgPt{2taoLX^z@}GnkXO8`oSgVqxism@Bz@^>fbi;C_#e^wB>Jd|"
    "+u!%G>Ag-&d~b&Fcup`(;&UN7&oOPC=NZnkeEtr27dQ!-dx6*4(1Q!y<OLV*2P~6W4e5Ts{e5te#{BUmp8DAW=J)3LoFDggJcwO8c)}eKejz(P"
    "Zp8)vHqLX~r!{<Pzk7KNF53ehYR4F6#~A6ywxjDH1LI(bwd+EJ>u68Xy3RrKy7wI1_u&q#+h#Gbjej=VRzi-;t9*(+iJ+4h{}?&$W7<9bnfYW0"
    "!STP}3Mrk?En_e(32e#7Ve{&9MLaaaUyK=s(F}J@E7%#U{@9PdG238(A$W^2k|>|K(337@Wm2_aZG4<A!4$ZKPh(ll2)@doy^Uy<hPuvVnn!a="
    "vd~Y1dR3MacrlG~M^=_J2eZ%h!2fMJ@J#xduMRuA3vhPR$#(xHgvVzf8P}QA#2Nn`uj`6Ie1*Y#h32~Qg~rm48E79*hxnx&W==Xh8|&X;ND=)G"
    "-SaDIJ(jDVb6rM8mFVmTSEoO@2=(>)>p#8pPHh|db<CIgf0-L?=^S2Tt{d~Eb0^x#=5R87A^X3mF_-D-0a~)aBd70W$}F1xhoZ(&QPQGSKI;@H"
    "K6fgHt7!Y*d&<vJUdmn$-^$jUYRTTTakizoc#yIyyNfC8<Ft3FG#9gT%u0s?4Sx!}>;}C|8ZPCj+4xR+V@uR5&T`Pl=fBoT4?e6X5k42b5C?|o"
    "T<<SU-fG7QoBS!lulkdVf0)B7?80_6E%-v@=szR;8%Xs?hX"
)
# The scripts that regular expressions refer to by name.
SCRIPTS = {
    "Arabic": 2,
    "Armenian": 3,
    "Bengali": 4,
    "Common": 0,
    "Cyrillic": 8,
    "Devanagari": 10,
    "Georgian": 12,
    "Greek": 14,
    "Han": 17,
    "Hangul": 18,
    "Hebrew": 19,
    "Hiragana": 20,
    "Katakana": 22,
    "Latin": 25,
    "Tamil": 35,
    "Thai": 38,
}
INVALID = -1


@cache
def _table() -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.int32]]]:
    """Returns the start of each run, with the end of the last one, and the runs' codes."""
    starts, scripts = [0], []
    data = iter(zlib.decompress(base64.b85decode(_RUNS)))
    for byte in data:
        length, shift = byte & 0x7F, 7
        while byte & 0x80:
            byte = next(data)
            length |= (byte & 0x7F) << shift
            shift += 7
        starts.append(starts[-1] + length)
        scripts.append(next(data))
    return np.array(starts), np.array(scripts, np.int32)


def script_of(
    codes: np.ndarray[tuple[int, ...], np.dtype[np.int32]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """Returns the scripts of characters; INVALID for an integer that is not a character."""
    starts, scripts = _table()
    runs = np.clip(np.searchsorted(starts, codes, side="right") - 1, 0, len(scripts) - 1)
    return np.where((codes >= 0) & (codes < starts[-1]), scripts[runs], np.int32(INVALID))


def script_ranges(script: int) -> list[tuple[int, int]]:
    """Returns the runs of characters of a script, first and last."""
    starts, scripts = _table()
    return [(int(starts[i]), int(starts[i + 1]) - 1) for i in np.flatnonzero(scripts == script)]
