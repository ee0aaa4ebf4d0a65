// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/lexicon.h"

namespace evenkeel::data::lexicon {

const std::string_view kNouns =
    "king dog cat queen owl boy girl goat bear lion cook duck bird monk nun maid lord hen cow "
    "pig crow horse frog poet lamp boat hat cup clock bell tree rose stone cart mule toad hare "
    "ant bee moth crab rat mole seal swan hawk lamb eel knight duke baker farmer tailor doctor "
    "judge guard clerk uncle aunt sister brother mother father twin wizard giant troll dragon "
    "ghost robot clown prince pirate hunter gnome beggar hermit miller singer pilot sailor "
    "friend cousin robin snake turtle snail worm spider beetle rabbit otter beaver badger whale "
    "shark trout colt donkey camel zebra tiger monkey parrot pigeon raven kitten weasel heron "
    "gull lark wren falcon hound bull ram newt lizard eagle drum harp flute horn book map "
    "letter ring crown sword shield coat cloak boot basket barrel kettle pot pan plate spoon "
    "apple pear plum nut garden field hill river lake cloud star moon candle mirror ladder rope "
    "wheel table chair engine rocket piano violin button pillow hammer shovel bucket ship wagon "
    "tower house barn mill bridge gate door cub stag doe gnat wasp flea slug doll kite ball "
    "fork bowl jar jug mug sack rug bed desk wall road pail nest cage stool chain stick broom comb "
    "flag tent sled";

const std::string_view kAdjectives =
    "old red big small blue sad wise young tall kind shy fat wet odd green proud calm black white "
    "glad thin cold brave short warm loud dry pale quiet slow tiny soft happy grey dark rich poor "
    "great new nice good bad fine hot hard grim wild tame weak rude plain fair huge little quick "
    "lazy busy tired hungry sleepy gentle fierce strong clever silly funny angry merry rough "
    "smooth "
    "sharp dull bright rare ugly pretty noble humble honest polite modest jolly gloomy lonely "
    "famous secret broken rusty dusty muddy golden wooden modern brown pink";

const std::string_view kTransitive =
    "see love fear hear find know help meet like want need hate call trust thank greet mock "
    "feed pull hug bite chase hunt hold drag lift pat poke kick blame tease trick scold praise "
    "admire follow obey pay serve fight scare amuse annoy bother cheer visit leave join invite "
    "draw paint sell buy hide seek shun wake warn mend move shake prod save rescue steal borrow "
    "count weigh guide lead defend protect attack alarm please comfort inspect examine measure "
    "trace";

const std::string_view kIntransitive =
    "sleep sing dance laugh smile wait run walk jump swim fall rest snore dream weep sit nod "
    "yawn hop cough sneeze blink sigh grin kneel stand shiver tremble listen wander stumble "
    "limp skip crawl creep climb drift float sink glow";

const std::string_view kAdverbs =
    "now often softly gladly never still always slowly sadly soon loudly rarely calmly proudly "
    "quietly quickly deeply bravely warmly badly boldly kindly oddly again";

const std::string_view kPrepositions =
    "near with by behind of under beside from above on below beyond against";

const std::string_view kSpeakers = "Anna Tom Mara Ben Ida Otto Nora Hugo Emma Karl Lena Felix";

const std::string_view kSecondSpeakers =
    "Olga Nils Cora Kurt Dora Igor Paula Peter Yara Bruno Julia Edgar";

const std::string_view kSingular = "this each one every";
const std::string_view kPlural = "two some many these three few";
const std::string_view kEither = "the my our your his her";

}  // namespace evenkeel::data::lexicon
