(* A layout and its complement together: injective whenever complement accepts, a bijection onto [0, size) when each stride
   is a multiple of what the smaller ones span; and the complement increases.  Every rank.

   complement        body::complement_modes (and its steps: kept, sorted, holes, folding_ceil_div_size)
                     algebra/include/inlay/algebra/bodies/complement.h, on concrete integers *)
Require Import ZArith List Lia Bool Permutation.
Require Import Value Chain Composition.
Import ListNotations.
Local Open Scope Z_scope.

(* Modes of stride 0 are left out. *)
Definition kept (L : list mode) : list mode := filter (fun m => negb (snd m =? 0)) L.

(* The number of copies that cover a shape given by its leaves. *)
Fixpoint folding_ceil_div_size (leaves : list Z) (divisor : Z) : Z :=
  match leaves with [] => 1 | x :: T => ceil_div x divisor * folding_ceil_div_size T (ceil_div divisor x) end.

(* Between two modes lie as many steps of what is spanned so far as fit; after the last, what covers the cotarget. *)
Fixpoint holes (cotarget : list Z) (current : Z) (L : list mode) : option (list mode) :=
  match L with
  | [] => Some [(folding_ceil_div_size cotarget current, current)]
  | (s, d) :: T =>
      if (d <? 0) || (d <? current) then None
      else match holes cotarget (s * d) T with Some R => Some ((d / current, current) :: R) | None => None end
  end.

Definition sorted (L : list mode) : list mode := sort snd (coalesced false (kept L)).

Definition complement (L : list mode) (cotarget : list Z) : option (list mode) :=
  match holes cotarget 1 (sorted L) with Some R => Some (coalesced false R) | None => None end.

(* Each stride is a multiple of what the modes before it span. *)
Fixpoint divisible (p : Z) (L : list mode) : Prop :=
  match L with [] => True | (s, d) :: T => (p | d) /\ divisible (s * d) T end.

(* What all modes span: the product of the last extent and stride. *)
Fixpoint span (p : Z) (L : list mode) : Z := match L with [] => p | (s, d) :: T => span (s * d) T end.

(* ---------------------------------------------------------------- the steps *)
Lemma ceil_div_pos : forall a b, 1 <= a -> 1 <= b -> 1 <= ceil_div a b.
Proof. intros. unfold ceil_div. assert (- a / b < 0) by (apply Z.div_lt_upper_bound; lia). lia. Qed.

Lemma folding_pos : forall M p, Forall (fun x => 1 <= x) M -> 1 <= p -> 1 <= folding_ceil_div_size M p.
Proof.
  induction M as [|x M IH]; intros p F Hp; cbn; [lia|]. inversion F; subst.
  pose proof (ceil_div_pos x p H1 Hp). pose proof (IH (ceil_div p x) H2 (ceil_div_pos p x Hp H1)). nia.
Qed.

(* The modes and the holes between them, by stride. *)
Fixpoint joined (cotarget : list Z) (current : Z) (L : list mode) : list mode :=
  match L with
  | [] => [(folding_ceil_div_size cotarget current, current)]
  | (s, d) :: T => (d / current, current) :: (s, d) :: joined cotarget (s * d) T
  end.

Lemma holes_joined : forall M C p H, wf C -> Forall (fun x => 1 <= x) M -> 1 <= p -> holes M p C = Some H ->
  Permutation (C ++ H) (joined M p C) /\ gaps p (joined M p C) /\ wf (joined M p C) /\ gaps p H /\ wf H.
Proof.
  intros M. induction C as [|[s d] C IH]; intros p H W F Hp E.
  - injection E as <-. cbn. pose proof (folding_pos M p F Hp). repeat split; auto; try lia; repeat constructor; cbn; lia.
  - inversion W as [|? ? Hs W']; subst. cbn [fst] in Hs. cbn [holes] in E.
    destruct ((d <? 0) || (d <? p)) eqn:B; [discriminate|]. apply orb_false_elim in B. destruct B as [B1 B2].
    apply Z.ltb_ge in B1, B2. destruct (holes M (s * d) C) as [H'|] eqn:Q; [|discriminate]. injection E as <-.
    destruct (IH (s * d) H' W' F ltac:(nia) Q) as (I1 & I2 & I3 & I4 & I5). cbn [joined app gaps].
    pose proof (Z.mul_div_le d p ltac:(lia)). assert (1 <= d / p) by (apply Z.div_le_lower_bound; lia).
    split; [|repeat split; auto; try lia].
    + rewrite <- I1, <- (Permutation_middle C). apply perm_swap.
    + repeat (constructor; auto).
    + clear - I4 H B2 Hs B1. destruct H' as [|[t e] T]; cbn in *; auto. destruct I4. split; auto. nia.
    + constructor; auto.
Qed.

Lemma joined_chain : forall M C p, 1 <= p -> wf C -> divisible p C -> Forall (fun m => 1 <= snd m) C -> chain p (joined M p C).
Proof.
  intros M. induction C as [|[s d] C IH]; intros p Hp W D F; [cbn; auto|]. inversion W; subst. inversion F; subst. cbn [fst snd] in *.
  destruct D as [[k ->] D]. cbn [joined chain]. rewrite Z.div_mul by lia. split; [auto|]. split; [ring|].
  replace (p * k * s) with (s * (k * p)) by ring. apply IH; auto. nia.
Qed.

Lemma joined_size : forall M C p, 1 <= p -> wf C -> divisible p C -> Forall (fun m => 1 <= snd m) C ->
  p * size (joined M p C) = span p C * folding_ceil_div_size M (span p C).
Proof.
  intros M. induction C as [|[s d] C IH]; intros p Hp W D F.
  - cbn. ring.
  - inversion W; subst. inversion F; subst. cbn [fst snd] in *. destruct D as [[k ->] D]. cbn [joined span]. rewrite !size_cons.
    rewrite Z.div_mul by lia. rewrite <- IH; auto; [ring|nia].
Qed.

Lemma holes_positive : forall M C p H, 1 <= p -> wf C -> holes M p C = Some H -> Forall (fun m => 1 <= snd m) C.
Proof.
  intros M. induction C as [|[s d] C IH]; intros p H Hp W E; constructor; cbn [holes] in E; inversion W; subst; cbn [fst snd] in *;
    destruct (Z.ltb_spec d p); rewrite ?orb_true_r in E; try discriminate; [lia|].
  destruct ((d <? 0) || false); [discriminate|]. destruct (holes M (s * d) C) eqn:Q; [|discriminate]. apply (IH (s * d) l); auto. nia.
Qed.

(* ---------------------------------------------------------------- the same values, mode by mode or joined *)
Lemma sums_comm : forall X Y, Permutation (sums X Y) (sums Y X).
Proof.
  intros. pose proof (sums_shift X Y 0) as H.
  assert (E : forall l, map (fun x => x + 0) l = l) by (intros; rewrite (map_ext _ (fun x => x)) by (intros; lia); apply map_id).
  rewrite !E in H. exact H.
Qed.

Lemma image_app : forall A B, image (A ++ B) = sums (image A) (image B).
Proof.
  induction A as [|m A IH]; intros B.
  - cbn [app]. change (image []) with [0]. generalize (image B) as l. induction l as [|b l IHl]; [reflexivity|].
    rewrite sums_cons_r. cbn [map app]. rewrite <- IHl. reflexivity.
  - change (image ((m :: A) ++ B)) with (sums (multiples m) (image (A ++ B))). rewrite IH, sums_assoc. reflexivity.
Qed.

Lemma image_app_permutation : forall A A' B B', Permutation (image A) (image A') -> Permutation (image B) (image B') ->
  Permutation (image (A ++ B)) (image (A' ++ B')).
Proof.
  intros. rewrite !image_app. rewrite (sums_permutation _ _ _ H0), sums_comm, (sums_permutation _ _ _ H). apply sums_comm.
Qed.

Lemma image_coalesced : forall L, wf L -> image (coalesced false L) = image L.
Proof.
  intros L W. rewrite !image_values by (auto; apply coalesced_wf; auto). rewrite coalesced_size by auto.
  apply map_ext_in. intros i H. apply coalesced_value; [auto|apply in_range; auto].
Qed.

Definition no_broadcast (L : list mode) : Prop := Forall (fun m => fst m = 1 \/ snd m <> 0) L.

Lemma kept_used : forall L, no_broadcast L -> used false (kept L) = used false L.
Proof.
  assert (E : forall s d T, used false ((s, d) :: T) = if s =? 1 then used false T else (s, d) :: used false T).
  { intros s d [|m T]; [cbn; destruct (s =? 1); reflexivity|reflexivity]. }
  induction 1 as [|[s d] T H _ IH]; auto. cbn [fst snd] in H. unfold kept in *. cbn [filter snd].
  rewrite E, <- IH. destruct (Z.eqb_spec s 1), (Z.eqb_spec d 0); cbn [negb]; try lia; auto; rewrite E;
    destruct (Z.eqb_spec s 1); auto; lia.
Qed.

Lemma kept_wf : forall L, wf L -> wf (kept L).
Proof. intros L W. unfold wf, kept in *. rewrite Forall_forall in *. intros m H. apply filter_In in H. apply W. tauto. Qed.

Lemma sorted_wf : forall L, wf L -> wf (sorted L).
Proof.
  intros L W. eapply wf_permutation; [symmetry; apply sort_permutation|]. apply coalesced_wf, kept_wf; auto.
Qed.

Lemma sorted_image : forall L, wf L -> no_broadcast L -> Permutation (image L) (image (sorted L)).
Proof.
  intros L W N. unfold sorted. rewrite (image_permutation _ _ (sort_permutation _ _)).
  rewrite image_coalesced, <- (image_used (kept L)), kept_used, image_used by auto using kept_wf. reflexivity.
Qed.

Lemma image_length : forall L, wf L -> Z.of_nat (length (image L)) = size L.
Proof. intros L W. rewrite image_values by auto. rewrite map_length, range_length. pose proof (wf_size _ W). lia. Qed.

Lemma complement_spec : forall L M R, wf L -> no_broadcast L -> Forall (fun x => 1 <= x) M -> complement L M = Some R ->
  wf R /\ wf (joined M 1 (sorted L)) /\ gaps 1 (joined M 1 (sorted L)) /\ Forall (fun m => 1 <= snd m) (sorted L) /\
  Permutation (image (L ++ R)) (image (joined M 1 (sorted L))) /\ size (L ++ R) = size (joined M 1 (sorted L)).
Proof.
  intros L M R W N F E. unfold complement in E. destruct (holes M 1 (sorted L)) as [H|] eqn:Q; [|discriminate]. injection E as <-.
  destruct (holes_joined M (sorted L) 1 H (sorted_wf _ W) F ltac:(lia) Q) as (H1 & H2 & H3 & H4 & H5).
  assert (P : Permutation (image (L ++ coalesced false H)) (image (joined M 1 (sorted L)))).
  { rewrite <- (image_permutation _ _ H1). apply image_app_permutation; [apply sorted_image; auto|]. rewrite image_coalesced by auto. auto. }
  assert (WR : wf (coalesced false H)) by (apply coalesced_wf; auto).
  split; [auto|]. split; [auto|]. split; [auto|]. split; [apply (holes_positive M (sorted L) 1 H); auto using sorted_wf; lia|]. split; [auto|].
  rewrite <- !image_length by (auto; apply Forall_app; auto). rewrite (Permutation_length P). reflexivity.
Qed.

(* ---------------------------------------------------------------- the theorems *)
(* Identities 20 and 21, and more: acceptance alone is enough. *)
Theorem complement_injective : forall L M R, wf L -> no_broadcast L -> Forall (fun x => 1 <= x) M -> complement L M = Some R ->
  injective (L ++ R).
Proof.
  intros L M R W N F E. destruct (complement_spec _ _ _ W N F E) as (H1 & H2 & H3 & _ & H5 & _).
  apply injective_image; [apply Forall_app; auto|]. eapply Permutation_NoDup; [symmetry; exact H5|]. apply injective_image; auto.
  intros i j Hi Hj V. apply (dominated_unique (joined M 1 (sorted L)) 0 0 i j); auto; try lia.
  apply gaps_dominated with 1; auto; lia.
Qed.

(* Identity 22: covered once, without holes. *)
Theorem complement_bijective : forall L M R, wf L -> no_broadcast L -> Forall (fun x => 1 <= x) M -> divisible 1 (sorted L) ->
  complement L M = Some R -> bijective (L ++ R).
Proof.
  intros L M R W N F D E. destruct (complement_spec _ _ _ W N F E) as (H1 & H2 & H3 & H4 & H5 & H6).
  apply bijective_image; [apply Forall_app; auto|]. rewrite H5, H6. rewrite image_values by auto.
  rewrite (map_ext_in _ (fun i => i)); [rewrite map_id; reflexivity|]. intros i Hi. apply in_range in Hi.
  assert (C : chain 1 (joined M 1 (sorted L))) by (apply joined_chain; auto using sorted_wf; lia).
  rewrite (chain_value _ 1) by auto. lia.
Qed.

(* Identities 22 and 24: when what the layout spans divides the target, [0, M) is covered, and size A* = M / size A. *)
Theorem complement_size : forall L M R, wf L -> no_broadcast L -> 1 <= M -> divisible 1 (sorted L) -> (span 1 (sorted L) | M) ->
  complement L [M] = Some R -> size L * size R = M /\ size (L ++ R) = M.
Proof.
  intros L M R W N HM D [k K] E. assert (F : Forall (fun x => 1 <= x) [M]) by (constructor; auto).
  destruct (complement_spec _ _ _ W N F E) as (H1 & H2 & H3 & H4 & H5 & H6). rewrite size_app in *.
  pose proof (joined_size [M] (sorted L) 1 ltac:(lia) (sorted_wf _ W) D H4) as S. rewrite <- H6 in S. rewrite Z.mul_1_l in S.
  rewrite S. cbn [folding_ceil_div_size]. rewrite Z.mul_1_r. set (p := span 1 (sorted L)) in *.
  assert (P : p <> 0) by nia. unfold ceil_div. replace (- M) with (- k * p) by lia. rewrite Z.div_mul by auto. nia.
Qed.

(* Identity 23. *)
Theorem complement_increasing : forall L M R i j, wf L -> Forall (fun x => 1 <= x) M -> complement L M = Some R ->
  0 <= i < j -> j < size R -> value R i < value R j.
Proof.
  intros L M R i j W F E Hi Hj. unfold complement in E. destruct (holes M 1 (sorted L)) as [H|] eqn:Q; [|discriminate]. injection E as <-.
  destruct (holes_joined M (sorted L) 1 H (sorted_wf _ W) F ltac:(lia) Q) as (_ & _ & _ & H4 & H5).
  rewrite coalesced_size in Hj by auto. rewrite !coalesced_value by (auto; lia).
  pose proof (gaps_increasing H 1 i j H5 H4 ltac:(lia) Hi Hj). lia.
Qed.
